"""Functions of arrays, and what makes arrays and structs.

Knows, for each, how Spark's answer comes out of DuckDB's functions of lists; those that take a lambda get its body as a
term. An index that is not there goes to Spark, which refuses it.
"""

from __future__ import annotations

from collections.abc import Sequence

from duck_sql.functions import MANY, SCALARS, enter, literal_string
from duck_sql.terms import NotProven, Term, call_name, made, refused_where, text, truth
from duck_sql.types import BIGINT, BOOLEAN, INT, STRING, VOID, Type, array, quoted, struct
from duck_sql.values import alike, become, comparable

_NO_INDEX = "an index that is not there"


def array_of(name: str, term: Term) -> Term:
    """An argument that is an array. Raises NotProven."""
    if term.type.name != "array":
        raise NotProven(f"{name}() of a {term.type.shown}")
    return term


@enter(SCALARS, "array", 0, MANY)
def _array(name: str, of: Sequence[Term]) -> Term:
    terms, kind = alike(list(of), name) if of else ([], VOID)
    return made(f"[{', '.join(term.sql for term in terms)}]", array(kind), *of, name=call_name(name, *of))


def struct_of(fields: Sequence[tuple[str, Term]]) -> Term:
    """A struct of fields, by their names."""
    inner = ", ".join(f"{quoted(name)} := {term.sql}" for name, term in fields)
    return made(f"struct_pack({inner})", struct(*((name, term.type) for name, term in fields)), *(t for _, t in fields))


def field_of(term: Term, name: str) -> Term | None:
    """A struct's field, by its name in whatever case; None: it has none of that name. Raises NotProven: it has two."""
    if term.type.name != "struct":
        return None
    found = [(own, kind) for own, kind in term.type.fields if own.lower() == name.lower()]
    if len(found) > 1:
        raise NotProven(f"two fields {name}")
    if not found:
        return None
    ((own, kind),) = found
    nested = None if term.name is None else f"{term.name}.{own}"
    return made(f"struct_extract({term.sql}, {text(own)})", kind, term, name=nested)


@enter(SCALARS, "size cardinality array_size", 1)
def _size(name: str, of: Sequence[Term]) -> Term:
    term = array_of(name, of[0])
    return made(f"CAST(len({term.sql}) AS INTEGER)", INT, term, name=call_name(name, *of))


@enter(SCALARS, "get", 2)
def _get(name: str, of: Sequence[Term]) -> Term:
    term, index = array_of(name, of[0]), become(of[1], BIGINT)
    sql = f"CASE WHEN {index.sql} >= 0 THEN list_extract({term.sql}, {index.sql} + 1) END"
    return made(sql, term.type.item, term, index)


def indexed(term: Term, index: Term) -> Term:
    """a[index], from 0."""
    term = array_of("[]", term)
    if not index.type.is_whole:
        raise NotProven(f"an index of type {index.type.shown}")
    value = f"list_extract({term.sql}, CAST({index.sql} AS BIGINT) + 1)"
    return made(
        refused_where(f"{index.sql} < 0 OR {index.sql} >= len({term.sql})", value, _NO_INDEX),
        term.type.item,
        term,
        index,
    )


@enter(SCALARS, "element_at", 2)
def _element_at(name: str, of: Sequence[Term]) -> Term:
    term, index = array_of(name, of[0]), become(of[1], BIGINT)
    outside = f"{index.sql} = 0 OR abs({index.sql}) > len({term.sql})"
    return made(
        refused_where(outside, f"list_extract({term.sql}, {index.sql})", _NO_INDEX), term.type.item, term, index
    )


@enter(SCALARS, "array_contains", 2)
def _array_contains(name: str, of: Sequence[Term]) -> Term:
    term = array_of(name, of[0])
    _, wanted = comparable(Term("NULL", term.type.item), of[1])
    found = f"list_contains({term.sql}, {wanted.sql})"
    null = f"len(list_filter({term.sql}, lambda one: one IS NULL)) > 0"
    unknown = f"{term.sql} IS NULL OR {wanted.sql} IS NULL"
    sql = f"CASE WHEN {unknown} THEN NULL WHEN {found} THEN true WHEN {null} THEN NULL ELSE false END"
    return made(sql, BOOLEAN, term, wanted, name=call_name(name, *of))


@enter(SCALARS, "array_join", 2)
def _array_join(name: str, of: Sequence[Term]) -> Term:
    term, between = array_of(name, of[0]), text(literal_string(name, of[1]))
    if term.type.item != STRING:
        raise NotProven(f"{name}() of {term.type.shown}")
    present = f"list_filter({term.sql}, lambda one: one IS NOT NULL)"
    sql = f"CASE WHEN len({present}) = 0 THEN '' ELSE array_to_string({present}, {between}) END"
    return made(f"CASE WHEN {term.sql} IS NOT NULL THEN {sql} END", STRING, term, name=call_name(name, *of))


@enter(SCALARS, "array_sort", 1)
def _array_sort(name: str, of: Sequence[Term]) -> Term:
    term = array_of(name, of[0])
    return made(f"list_sort({term.sql}, 'ASC', 'NULLS LAST')", term.type, term)


@enter(SCALARS, "sort_array", 1, 2)
def _sort_array(name: str, of: Sequence[Term]) -> Term:
    term = array_of(name, of[0])
    is_rising = True if len(of) == 1 else of[1].value
    if not isinstance(is_rising, bool):
        raise NotProven("sort_array() in an order that is not written out")
    order = "'ASC', 'NULLS FIRST'" if is_rising else "'DESC', 'NULLS LAST'"
    called = call_name(name, *(of if len(of) == 2 else (*of, Term("", BOOLEAN, name="true"))))
    return made(f"list_sort({term.sql}, {order})", term.type, term, name=called)


@enter(SCALARS, "array_distinct", 1)
def _array_distinct(name: str, of: Sequence[Term]) -> Term:
    """Each value where it stands first."""
    term = array_of(name, of[0])
    if not term.type.item.is_plain and term.type.item.name != "struct":
        raise NotProven(f"{name}() of {term.type.shown}")
    sql = f"list_filter({term.sql}, lambda one, place: list_position({term.sql}, one) = place)"
    return made(sql, term.type, term, name=call_name(name, *of))


@enter(SCALARS, "array_min array_max", 1)
def _array_extreme(name: str, of: Sequence[Term]) -> Term:
    term = array_of(name, of[0])
    if not term.type.item.is_plain:
        raise NotProven(f"{name}() of {term.type.shown}")
    return made(f"list_{name[-3:]}({term.sql})", term.type.item, term, name=call_name(name, *of))


@enter(SCALARS, "flatten", 1)
def _flatten(name: str, of: Sequence[Term]) -> Term:
    term = array_of(name, of[0])
    kind = array_of(name, Term("", term.type.item)).type
    # Spark's is null where one of the arrays is.
    null = f"len(list_filter({term.sql}, lambda one: one IS NULL)) > 0"
    return made(f"CASE WHEN NOT ({null}) THEN flatten({term.sql}) END", kind, term)


@enter(SCALARS, "sequence", 2)
def _sequence(name: str, of: Sequence[Term]) -> Term:
    (start, end), kind = alike(list(of), name)
    if not kind.is_whole or (not (start.is_literal and end.is_literal) and not (of[0].value == 1 or of[0].value == 0)):
        raise NotProven("sequence() of other than whole numbers from 0 or 1")
    down = refused_where(f"{end.sql} < {start.sql}", end.sql, "a sequence that falls")
    return made(f"CAST(generate_series({start.sql}, {down}) AS {kind.duck}[])", array(kind), start, end)


LAMBDAS = ("transform", "filter", "exists", "forall")


def with_lambda(name: str, term: Term, variable: str, body: Term) -> Term:
    """transform, filter, exists or forall. variable: as the body's text names an element."""
    arrow = f"lambda {variable}: {body.sql}"
    match name:
        case "transform":
            return made(f"list_transform({term.sql}, {arrow})", array(body.type), term, body)
        case "filter":
            truth(body)
            return made(f"list_filter({term.sql}, {arrow})", term.type, term)
    truth(body)
    answers = f"list_transform({term.sql}, {arrow})"
    # Of three values, as AND and OR have it.
    first, other = ("true", "false") if name == "exists" else ("false", "true")
    null = f"len(list_filter({answers}, lambda one: one IS NULL)) > 0"
    choice = f"WHEN list_contains({answers}, {first}) THEN {first} WHEN {null} THEN NULL ELSE {other}"
    sql = f"CASE WHEN {term.sql} IS NULL THEN NULL {choice} END"
    return made(sql, BOOLEAN, term, body)


def generated(name: str, term: Term) -> list[tuple[str, str, Type]]:
    """The columns that explode, posexplode or inline make of an array: name, DuckDB's text, type."""
    term = array_of(name, term)
    match name:
        case "explode":
            return [("col", f"unnest({term.sql})", term.type.item)]
        case "posexplode":
            places = f"unnest(CAST(range(len({term.sql})) AS INTEGER[]))"
            return [("pos", places, INT), ("col", f"unnest({term.sql})", term.type.item)]
        case "inline" if term.type.item.name == "struct":
            return [("inline", f"unnest({term.sql})", term.type.item)]
    raise NotProven(f"{name}() of {term.type.shown}")
