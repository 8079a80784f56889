"""Operators, conditions, choices and casts.

Knows the handlers of their nodes; what they mean for values of each type stands in `duck_sql.values`. Must not know any
query.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from duck_sql import literals, moments, patterns, scalars, values
from duck_sql.expressions import Expressions, Node, node_of, shown_node
from duck_sql.functions import SCALARS
from duck_sql.scope import Scope
from duck_sql.terms import NULL, NotProven, Term, made, operator_name, refused_where, text, truth
from duck_sql.types import BOOLEAN, DATE, TIMESTAMP, Type, array, decimal, named, struct

_COMPARISONS: dict[type, str] = {exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}


@node_of(*_COMPARISONS)
def _comparison(expressions: Expressions, node: Node, scope: Scope) -> Term:
    left, right = expressions.terms([node.this, node.expression], scope)
    found = values.compared(_COMPARISONS[type(node)], left, right, expressions.is_inner)
    if any(term.is_literal and term.type.name == "decimal" for term in (left, right)):
        # Spark writes the number as the other side's type has it.
        return found.named(None)
    if isinstance(node, exp.NEQ):
        equal = operator_name("=", left, right)
        return found.named(None if equal is None else f"(NOT {equal})")
    return found


@node_of(exp.NullSafeEQ)
def _null_safe(expressions: Expressions, node: Node, scope: Scope) -> Term:
    left, right = values.comparable(expressions.term(node.this, scope), expressions.term(node.expression, scope))
    return made(f"({left.sql} IS NOT DISTINCT FROM {right.sql})", BOOLEAN, left, right)


@node_of(exp.And, exp.Or)
def _logic(expressions: Expressions, node: Node, scope: Scope) -> Term:
    word = "AND" if isinstance(node, exp.And) else "OR"
    left, right = expressions.condition(node.this, scope), expressions.condition(node.expression, scope)
    return made(f"({left.sql} {word} {right.sql})", BOOLEAN, left, right, name=operator_name(word, left, right))


@node_of(exp.Not)
def _not(expressions: Expressions, node: Node, scope: Scope) -> Term:
    term = expressions.condition(node.this, scope)
    # NOT x IS NULL and x IS NOT NULL are one tree, and have two names.
    name = None if term.name is None or isinstance(node.this, exp.Is) else f"(NOT {term.name})"
    return made(f"(NOT {term.sql})", BOOLEAN, term, name=name)


@node_of(exp.Is)
def _is(expressions: Expressions, node: Node, scope: Scope) -> Term:
    term, what = expressions.term(node.this, scope), node.expression
    if isinstance(what, exp.Null):
        name = None if term.name is None else f"({term.name} IS NULL)"
        return made(f"({term.sql} IS NULL)", BOOLEAN, term, name=name)
    if isinstance(what, exp.Boolean):
        return made(f"({truth(term).sql} IS {'TRUE' if what.this else 'FALSE'})", BOOLEAN, term)
    raise NotProven(shown_node(what))


@node_of(exp.Between)
def _between(expressions: Expressions, node: Node, scope: Scope) -> Term:
    if node.args.get("symmetric"):
        raise NotProven("BETWEEN SYMMETRIC")
    term, low, high = expressions.terms([node.this, node.args["low"], node.args["high"]], scope)
    from_, to = values.compared(">=", term, low), values.compared("<=", term, high)
    return made(f"({from_.sql} AND {to.sql})", BOOLEAN, from_, to)


@node_of(exp.In)
def _in(expressions: Expressions, node: Node, scope: Scope) -> Term:
    term = expressions.term(node.this, scope)
    if node.args.get("query") is not None:
        return expressions.select.within(term, node.args["query"], scope)
    if any(node.args.get(key) is not None for key in ("unnest", "field", "is_global")):
        raise NotProven("this form of IN")
    choices = expressions.terms(node.expressions, scope)
    texts = []
    for choice in choices:
        left, right = values.comparable(term, choice)
        if left.type != term.type and not left.type.is_number:
            raise NotProven(f"IN of a {term.type.shown} and a {choice.type.shown}")
        texts.append(right.sql)
    name = None
    if term.name is not None and all(choice.name is not None for choice in choices):
        name = f"({term.name} IN ({', '.join(str(choice.name) for choice in choices)}))"
    return made(f"({term.sql} IN ({', '.join(texts)}))", BOOLEAN, term, *choices, name=name)


@node_of(exp.Like, exp.ILike)
def _like(expressions: Expressions, node: Node, scope: Scope) -> Term:
    term = scalars.string_of("like", expressions.term(node.this, scope))
    pattern = expressions.term(node.expression, scope)
    if not isinstance(pattern.value, str):
        raise NotProven("LIKE of a pattern that is not written out")
    word = "LIKE" if isinstance(node, exp.Like) else "ILIKE"
    name = None if word == "ILIKE" or term.name is None else f"{term.name} LIKE {pattern.value}"
    sql = f"({term.sql} {word} {text(patterns.like(pattern.value))})"
    if word == "ILIKE":
        if not pattern.value.isascii():
            raise NotProven("ILIKE of other than ASCII")
        sql = refused_where(f"strlen({term.sql}) <> length({term.sql})", sql, "no ASCII")
    if node.args.get("negate"):
        sql, name = f"(NOT {sql})", None if name is None else f"(NOT {name})"
    return made(sql, BOOLEAN, term, name=name)


@node_of(exp.RegexpLike)
def _rlike(expressions: Expressions, node: Node, scope: Scope) -> Term:
    found = SCALARS["rlike"].call("rlike", expressions.terms([node.this, node.expression], scope), expressions.is_inner)
    return made(f"(NOT {found.sql})", BOOLEAN, found) if node.args.get("negate") else found


@node_of(exp.Add, exp.Sub)
def _added(expressions: Expressions, node: Node, scope: Scope) -> Term:
    _refuse_beside(node, exp.DPipe)
    left, right = expressions.terms([node.this, node.expression], scope)
    return values.added("+" if isinstance(node, exp.Add) else "-", left, right)


@node_of(exp.DPipe)
def _joined(expressions: Expressions, node: Node, scope: Scope) -> Term:
    _refuse_beside(node, exp.Add, exp.Sub)
    return SCALARS["concat"].call(
        "concat", expressions.terms([node.this, node.expression], scope), expressions.is_inner
    )


@node_of(exp.Mul)
def _multiplied(expressions: Expressions, node: Node, scope: Scope) -> Term:
    return values.multiplied(*expressions.terms([node.this, node.expression], scope))


@node_of(exp.Div)
def _divided(expressions: Expressions, node: Node, scope: Scope) -> Term:
    return values.divided(*expressions.terms([node.this, node.expression], scope))


@node_of(exp.IntDiv)
def _whole_division(expressions: Expressions, node: Node, scope: Scope) -> Term:
    return values.whole_division(*expressions.terms([node.this, node.expression], scope))


@node_of(exp.Mod)
def _remainder(expressions: Expressions, node: Node, scope: Scope) -> Term:
    return values.remainder(*expressions.terms([node.this, node.expression], scope))


@node_of(exp.Neg)
def _negated(expressions: Expressions, node: Node, scope: Scope) -> Term:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return literals.number(f"-{node.this.this}")
    return values.negated(expressions.term(node.this, scope))


# ---------------------------------------------------------------- choices and casts


@node_of(exp.Case)
def _case(expressions: Expressions, node: Node, scope: Scope) -> Term:
    subject = None if node.this is None else expressions.term(node.this, scope)
    conditions = []
    for branch in node.args["ifs"]:
        term = expressions.term(branch.this, scope)
        conditions.append(truth(term) if subject is None else values.compared("=", subject, term))
    results = expressions.terms([branch.args["true"] for branch in node.args["ifs"]], scope)
    default = node.args.get("default")
    results.append(NULL if default is None else expressions.term(default, scope))
    names = [term.name for term in (*conditions, *results)]
    results, kind = values.alike(results, "a choice")
    whens = " ".join(f"WHEN {c.sql} THEN {r.sql}" for c, r in zip(conditions, results[:-1], strict=True))
    name = None
    if None not in names:
        of = " ".join(f"WHEN {c} THEN {r}" for c, r in zip(names, names[len(conditions) : -1], strict=False))
        name = f"CASE {of}{'' if default is None else f' ELSE {names[-1]}'} END"
    return made(f"CASE {whens} ELSE {results[-1].sql} END", kind, *conditions, *results, name=name)


@node_of(exp.If)
def _if(expressions: Expressions, node: Node, scope: Scope) -> Term:
    default = node.args.get("false")
    yes = expressions.term(node.args["true"], scope)
    return scalars.chosen(
        expressions.term(node.this, scope), yes, NULL if default is None else expressions.term(default, scope)
    )


@node_of(exp.Cast, exp.TryCast)
def _cast(expressions: Expressions, node: Node, scope: Scope) -> Term:
    kind = spark_type(node.to)
    term = expressions.term(node.this, scope)
    if node.args.get("safe"):
        raise NotProven("try_cast")
    if type(node) is exp.Cast:
        # DATE '...' and TIMESTAMP '...'
        if kind not in (DATE, TIMESTAMP) or not isinstance(term.value, str):
            raise NotProven("this form of a cast")
        found = literals.day(term.value) if kind == DATE else literals.moment(term.value)
        return found.named(None)
    found = values.asked_cast(term, kind)
    # Spark names a cast of a column after the column.
    is_column = isinstance(node.this, exp.Column) and len(node.this.parts) == 1
    return replace(found, title=node.this.name) if is_column else found


@node_of(exp.Extract)
def _extract(expressions: Expressions, node: Node, scope: Scope) -> Term:
    return moments.extracted(node.this.name, expressions.term(node.expression, scope))


@node_of(exp.Substring)
def _substring(expressions: Expressions, node: Node, scope: Scope) -> Term:
    given = [node.this, node.args.get("start"), node.args.get("length")]
    arguments = expressions.terms([one for one in given if one is not None], scope)
    # sqlglot has one node for both spellings.
    found = SCALARS["substring"].call("substring", arguments, expressions.is_inner)
    return found.named(None)


@node_of(exp.Trim)
def _trim(expressions: Expressions, node: Node, scope: Scope) -> Term:
    if node.args.get("position") or node.args.get("expression"):
        raise NotProven("TRIM of other than spaces")
    return SCALARS["trim"].call("trim", [expressions.term(node.this, scope)], expressions.is_inner)


@node_of(exp.CurrentDate, exp.CurrentTimestamp)
def _current(expressions: Expressions, node: Node, scope: Scope) -> Term:
    name = "current_date" if isinstance(node, exp.CurrentDate) else "current_timestamp"
    return SCALARS[name].call(name, [], expressions.is_inner)


def spark_type(node: Node) -> Type:
    """A type of sqlglot's tree. Raises NotProven."""
    name = node.this.value.lower()
    if name in ("array", "list"):
        return array(spark_type(node.expressions[0]))
    if name == "struct":
        return struct(*((one.name, spark_type(one.args["kind"])) for one in node.expressions))
    if name == "decimal" and len(node.expressions) == 2:
        precision, scale = (int(one.name) for one in node.expressions)
        return decimal(precision, scale)
    kind = named(name)
    if kind is None:
        raise NotProven(f"the type {node.sql('spark')}")
    return kind


def _refuse_beside(node: Node, *kinds: type[exp.Expression]) -> None:
    """sqlglot gives || a rank below +, Spark the same."""
    if isinstance(node.this, kinds) or isinstance(node.expression, kinds):
        raise NotProven("|| beside + or - without parentheses")
