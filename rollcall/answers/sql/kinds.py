"""Of what kind a query's expressions are, as far as its text says.

Where rows of two kinds are put together DuckDB makes texts of both, and Spark numbers, or an error. Knows sqlglot's
trees; must not know which functions may be asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sqlglot import exp

Node = Any
_NUMBER = "number"
_NUMBERS = exp.Count | exp.CountIf | exp.Sum | exp.Avg | exp.Median | exp.RowNumber | exp.Div | exp.IntDiv | exp.Mod
_AS_ITS_FIRST = exp.Alias | exp.Paren | exp.Neg | exp.Max | exp.Min | exp.Coalesce | exp.Greatest | exp.Least
_OF_ONE_KIND = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.In, exp.Between),
    *(exp.Coalesce, exp.Greatest, exp.Least, exp.Nullif, exp.Array),
)
_AS_LEFT = exp.Add | exp.Sub | exp.Mul | exp.Window | exp.Filter
_TYPES = dict.fromkeys(("int", "bigint", "double", "smallint"), _NUMBER) | dict.fromkeys(("string", "varchar"), "text")


class _Names(NamedTuple):
    """What a query's names stand for."""

    types: Mapping[str, set[str]]
    """The types of the columns of a name, of all tables that the query reads."""
    given: Mapping[str, list[Node]]
    """The expressions that the query gives a name to; not a column that keeps its own."""

    @classmethod
    def of(cls, tree: Node, columns: Mapping[str, Mapping[str, str]]) -> _Names:
        types, given = defaultdict[str, set[str]](set), defaultdict[str, list[Node]](list)
        for table in tree.find_all(exp.Table):
            for column, kind in columns.get(table.name.lower(), {}).items():
                types[column].add(kind)
        for alias in tree.find_all(exp.Alias):
            name = alias.alias.lower()
            if not (isinstance(alias.this, exp.Column) and alias.this.name.lower() == name):
                given[name].append(alias.this)
        return cls(types, given)


def kinds_put_together(tree: Node, columns: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Of each two columns whose rows a UNION, EXCEPT or INTERSECT puts together, the kinds where they may differ."""
    names = _Names.of(tree, columns)
    for both in tree.find_all(exp.SetOperation):
        left, right = (first_select(one).expressions for one in (both.this, both.expression))
        for one, other in zip(left, right, strict=False):
            kinds = _kind(one, names), _kind(other, names)
            if kinds[0] != kinds[1] and "null" not in kinds:
                yield kinds


def has_boolean_beside_number(tree: Node, columns: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether something takes both for values of one kind, as a comparison, a CASE or coalesce() does."""
    together = [list(node.iter_expressions()) for node in tree.find_all(*_OF_ONE_KIND)]
    together += [[one.args["true"], one.args["false"]] for one in tree.find_all(exp.If) if one.args.get("false")]
    for case in tree.find_all(exp.Case):
        together.append([*(one.args["true"] for one in case.args["ifs"]), *filter(None, [case.args.get("default")])])
        together.append([case.this, *(one.this for one in case.args["ifs"])] if case.this else [])
    names = _Names.of(tree, columns)
    return any({"boolean", _NUMBER} <= {_kind(one, names) for one in values} for values in together)


def first_select(tree: Node) -> Node:
    """The SELECT that names a query's columns."""
    while not isinstance(tree, exp.Select):
        tree = tree.this
    return tree


def _kind(node: Node, names: _Names, depth: int = 0) -> str:
    match node:
        case exp.Null():
            return "null"
        case exp.Boolean():
            return "boolean"
        case exp.Literal():
            return "text" if node.is_string else _NUMBER
        case exp.Cast():
            name = node.to.sql("spark").lower()
            return _TYPES.get(name, name)
        case exp.Column() if depth < 10:
            return _kind_of_name(node.name.lower(), names, depth)
        case _ if isinstance(node, _NUMBERS):
            return _NUMBER
        case _ if isinstance(node, _AS_ITS_FIRST | _AS_LEFT):
            return _kind(node.this, names, depth)
    return f"{type(node).__name__} {node.name}".strip().lower()


def _kind_of_name(name: str, names: _Names, depth: int) -> str:
    """The one kind that all columns and expressions of a name have, or the name itself."""
    found = {_TYPES.get(kind, kind) for kind in names.types.get(name, ())}
    found |= {_kind(one, names, depth + 1) for one in names.given.get(name, ())}
    return found.pop() if len(found) == 1 else f"column {name}"


_TESTED = exp.If | exp.CountIf | exp.LogicalAnd | exp.LogicalOr
_BOOLEAN = exp.Predicate | exp.Connector | exp.Not | exp.Boolean | exp.Paren | exp.Null


def is_condition(node: Node) -> bool:
    """Whether a node is taken for true or false, which DuckDB does with numbers too."""
    top = node
    while isinstance(top.parent, exp.Paren):
        top = top.parent
    around, key = top.parent, top.arg_key
    is_value = isinstance(around, exp.If) and isinstance(around.parent, exp.Case) and around.parent.this is not None
    is_tested = isinstance(around, _TESTED) and key == "this" and not is_value
    is_tested = is_tested or (isinstance(around, exp.Join) and key == "on")
    is_tested = is_tested or (isinstance(around, exp.Is) and isinstance(around.expression, exp.Boolean))
    is_tested = is_tested or isinstance(around, exp.Where | exp.Having | exp.Connector | exp.Not)
    return is_tested and not isinstance(node, _BOOLEAN)


_DATES = {"to_date", "date_add", "date_sub", "add_months", "last_day", "trunc", "make_date"}


def is_date(node: Node) -> bool:
    """Whether a node makes a date; its query may have several."""
    if isinstance(node, exp.Cast):
        return bool(node.to.this == exp.DataType.Type.DATE)
    if isinstance(node, exp.CurrentDate):
        return True
    known = _DATES if isinstance(node, exp.Anonymous) else {"at_date"} if isinstance(node, exp.Column) else ()
    return node.name.lower().removeprefix("spark_") in known
