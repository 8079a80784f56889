"""How Spark names a column of an answer to which the query gives no name.

Knows sqlglot's trees; must not know a home.
"""

from __future__ import annotations

from sqlglot import exp

from rollcall.answers.sql.kinds import first_select
from rollcall.answers.sql.known_equal import Node, NotEqual, TypedDialect, parsed, words_of

_NAMED_AS_TYPED = words_of(
    "count sum avg min max min_by max_by count_if median bool_or bool_and size hour year month day"
)
_SIGNS = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.EQ: "=", exp.GT: ">", exp.LT: "<"}


def name_columns(tree: Node, query: str) -> None:
    """Names the columns as Spark does, where the query does not. Raises NotEqual: how Spark does is not known."""
    first = first_select(tree)
    if all(isinstance(item, exp.Alias | exp.Aliases | exp.Column) or item.is_star for item in first.expressions):
        typed = first
    else:
        typed = first_select(parsed(query, TypedDialect))
    for item, as_typed in zip(list(first.expressions), typed.expressions, strict=True):
        if not (isinstance(item, exp.Alias | exp.Aliases) or item.is_star):
            item.replace(exp.alias_(item.copy(), _name_of(as_typed), quoted=True))


def _name_of(node: Node) -> str:
    """How Spark names an expression within a column's name. Raises NotEqual: it is not known."""
    match node:
        case exp.Column():
            return str(node.name)
        case exp.Literal() if node.is_string or node.name.isdecimal():
            return str(node.name)
        case exp.Star():
            return "1"
        case exp.Paren():
            return _name_of(node.this)
        case exp.Anonymous() if node.name.lower() in _NAMED_AS_TYPED:
            return f"{node.name.lower()}({', '.join(map(_name_of, node.expressions))})"
        case exp.Distinct():
            return f"DISTINCT {', '.join(map(_name_of, node.expressions))}"
        case exp.Binary() if type(node) in _SIGNS:
            return f"({_name_of(node.this)} {_SIGNS[type(node)]} {_name_of(node.expression)})"
    raise NotEqual("a column without a name")
