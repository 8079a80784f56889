"""Functions of single values: choices, numbers, texts and JSON.

Knows, for each, how Spark's answer comes out of DuckDB's functions. Those of moments stand in `duck_sql.moments`, those
of arrays in `duck_sql.arrays`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from duck_sql import patterns
from duck_sql.functions import MANY, SCALARS, enter, literal_string, literal_whole
from duck_sql.terms import NotProven, Term, call_name, cast, made, refused_where, text, truth
from duck_sql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    MAX_PRECISION,
    STRING,
    VOID,
    Type,
    array,
    decimal,
)
from duck_sql.values import alike, become, comparable, remainder

_ASCII = "no ASCII"


def string_of(name: str, term: Term) -> Term:
    """An argument that Spark takes as a text. Raises NotProven."""
    if term.type not in (STRING, VOID) and not term.type.is_whole:
        raise NotProven(f"{name}() of a {term.type.shown}")
    return become(term, STRING)


@enter(SCALARS, "coalesce nvl ifnull", 1, MANY)
def _coalesce(name: str, of: Sequence[Term]) -> Term:
    if name != "coalesce" and len(of) != 2:
        raise NotProven(f"{name}() of {len(of)} arguments")
    called = call_name(name, *of)
    terms, kind = alike(list(of), name)
    return made(f"coalesce({', '.join(term.sql for term in terms)})", kind, *terms, name=called)


@enter(SCALARS, "nullif", 2)
def _nullif(name: str, of: Sequence[Term]) -> Term:
    left, right = comparable(of[0], of[1])
    # The type is that of the first, whatever it is compared as.
    return made(
        f"CASE WHEN {left.sql} = {right.sql} THEN NULL ELSE {of[0].sql} END", of[0].type, *of, name=call_name(name, *of)
    )


@enter(SCALARS, "nvl2", 3)
def _nvl2(name: str, of: Sequence[Term]) -> Term:
    (yes, no), kind = alike(list(of[1:]), name)
    return made(
        f"CASE WHEN {of[0].sql} IS NOT NULL THEN {yes.sql} ELSE {no.sql} END", kind, *of, name=call_name(name, *of)
    )


def chosen(condition: Term, yes: Term, no: Term) -> Term:
    """IF(condition, yes, no)."""
    condition = truth(condition)
    names = (condition.name, yes.name, no.name)
    (yes, no), kind = alike([yes, no], "if")
    name = None if None in names else "(IF({}, {}, {}))".format(*names)
    return made(f"CASE WHEN {condition.sql} THEN {yes.sql} ELSE {no.sql} END", kind, condition, yes, no, name=name)


@enter(SCALARS, "isnull", 1)
def _isnull(name: str, of: Sequence[Term]) -> Term:
    return made(f"({of[0].sql} IS NULL)", BOOLEAN, *of)


@enter(SCALARS, "isnotnull", 1)
def _isnotnull(name: str, of: Sequence[Term]) -> Term:
    return made(f"({of[0].sql} IS NOT NULL)", BOOLEAN, *of)


@enter(SCALARS, "greatest least", 2, MANY)
def _extreme(name: str, of: Sequence[Term]) -> Term:
    terms, kind = alike(list(of), name)
    if not kind.is_plain or kind in (VOID, BOOLEAN):
        raise NotProven(f"{name}() of {kind.shown}")
    return made(f"{name}({', '.join(term.sql for term in terms)})", kind, *terms, name=call_name(name, *of))


# ---------------------------------------------------------------- numbers


@enter(SCALARS, "abs", 1)
def _abs(name: str, of: Sequence[Term]) -> Term:
    if not of[0].type.is_number:
        raise NotProven(f"abs() of a {of[0].type.shown}")
    return made(f"abs({of[0].sql})", of[0].type, *of, name=call_name(name, *of))


@enter(SCALARS, "try_divide", 2)
def _try_divide(name: str, of: Sequence[Term]) -> Term:
    """NULL for a division by zero."""
    if not all(term.type.is_whole or term.type == DOUBLE for term in of):
        raise NotProven(f"try_divide() of {of[0].type.shown} by {of[1].type.shown}")
    top, bottom = (cast(term, DOUBLE).sql for term in of)
    return made(f"CASE WHEN {bottom} <> 0 THEN {top} / {bottom} END", DOUBLE, *of, name=call_name(name, *of))


@enter(SCALARS, "mod", 2)
def _mod(name: str, of: Sequence[Term]) -> Term:
    return remainder(*of).named(call_name(name, *of))


@enter(SCALARS, "ceil ceiling floor", 1)
def _whole(name: str, of: Sequence[Term]) -> Term:
    (term,) = of
    called = call_name(name.upper() if name == "ceil" or name == "floor" else name, *of)
    if term.type.is_whole:
        return made(f"CAST({term.sql} AS BIGINT)", BIGINT, term, name=called)
    if term.type != DOUBLE:
        raise NotProven(f"{name}() of a {term.type.shown}")
    return made(f"CAST({'floor' if name == 'floor' else 'ceil'}({term.sql}) AS BIGINT)", BIGINT, term, name=called)


@enter(SCALARS, "round", 1, 2)
def _round(name: str, of: Sequence[Term]) -> Term:
    """By the number's digits, halves away from zero, as Spark does."""
    term = of[0]
    digits = literal_whole(name, of[1]) if len(of) == 2 else 0
    called = call_name(name, *(of if len(of) == 2 else (*of, Term("", INT, name="0"))))
    if not 0 <= digits <= 8:
        raise NotProven(f"round() to {digits} digits")
    if term.type.is_whole:
        return made(term.sql, term.type, term, name=called)
    if term.type == DOUBLE:
        rounded = f"CAST(CAST({term.sql} AS VARCHAR) AS DECIMAL({MAX_PRECISION - 10}, {digits}))"
        return made(f"CAST(CAST({rounded} AS VARCHAR) AS DOUBLE)", DOUBLE, term, name=called)
    if term.type.name != "decimal":
        raise NotProven(f"round() of a {term.type.shown}")
    precision, scale = term.type.digits
    kind = decimal(precision - scale + min(digits, scale) + 1, min(digits, scale))
    return made(f"CAST({term.sql} AS {kind.duck})", kind, term, name=called)


# ---------------------------------------------------------------- texts


@enter(SCALARS, "upper ucase lower lcase", 1)
def _letters(name: str, of: Sequence[Term]) -> Term:
    """In ASCII alone: of other letters Java knows more."""
    term = string_of(name, of[0])
    function = "upper" if name in ("upper", "ucase") else "lower"
    sql = refused_where(f"strlen({term.sql}) <> length({term.sql})", f"{function}({term.sql})", _ASCII)
    return made(sql, STRING, term, name=call_name(name, *of))


@enter(SCALARS, "length len char_length character_length", 1)
def _length(name: str, of: Sequence[Term]) -> Term:
    term = string_of(name, of[0])
    return made(f"CAST(length({term.sql}) AS INTEGER)", INT, term, name=call_name(name, *of))


@enter(SCALARS, "concat", 1, MANY)
def _concat(name: str, of: Sequence[Term]) -> Term:
    terms = [string_of(name, term) for term in of]
    return made(f"({' || '.join(term.sql for term in terms)})", STRING, *terms, name=call_name(name, *of))


@enter(SCALARS, "concat_ws", 2, MANY)
def _concat_ws(name: str, of: Sequence[Term]) -> Term:
    between = text(literal_string(name, of[0]))
    lists = []
    for term in of[1:]:
        if term.type == array(STRING):
            lists.append(f"coalesce({term.sql}, [])")
        else:
            lists.append(f"[{string_of(name, term).sql}]")
    joined = f"list_filter(flatten([{', '.join(lists)}]), lambda part: part IS NOT NULL)"
    return made(f"coalesce(array_to_string({joined}, {between}), '')", STRING, *of, name=call_name(name, *of))


@enter(SCALARS, "substring substr", 2, 3)
def _substring(name: str, of: Sequence[Term]) -> Term:
    term, start = string_of(name, of[0]), literal_whole(name, of[1])
    length = literal_whole(name, of[2]) if len(of) == 3 else None
    if start < 1 or (length is not None and length < 0):
        raise NotProven(f"{name}() from {start}")
    rest = "" if length is None else f", {length}"
    called = call_name(name, *(of if length is not None else (*of, Term("", INT, name="2147483647"))))
    return made(f"substring({term.sql}, {start}{rest})", STRING, term, name=called)


@enter(SCALARS, "left right", 2)
def _end(name: str, of: Sequence[Term]) -> Term:
    term, length = string_of(name, of[0]), literal_whole(name, of[1])
    if length < 0:
        raise NotProven(f"{name}() of {length}")
    return made(f"{name}({term.sql}, {length})", STRING, term, name=call_name(name, *of))


@enter(SCALARS, "trim ltrim rtrim", 1)
def _trim(name: str, of: Sequence[Term]) -> Term:
    term = string_of(name, of[0])
    return made(f"{name}({term.sql}, ' ')", STRING, term, name=call_name(name, *of))


@enter(SCALARS, "replace", 3)
def _replace(name: str, of: Sequence[Term]) -> Term:
    term, old, new = string_of(name, of[0]), literal_string(name, of[1]), literal_string(name, of[2])
    if not old:
        raise NotProven("replace() of nothing")
    return made(f"replace({term.sql}, {text(old)}, {text(new)})", STRING, term, name=call_name(name, *of))


@enter(SCALARS, "startswith endswith contains", 2)
def _holds(name: str, of: Sequence[Term]) -> Term:
    left, right = string_of(name, of[0]), string_of(name, of[1])
    function = {"startswith": "starts_with", "endswith": "ends_with", "contains": "contains"}[name]
    return made(f"{function}({left.sql}, {right.sql})", BOOLEAN, left, right, name=call_name(name, *of))


@enter(SCALARS, "instr", 2)
def _instr(name: str, of: Sequence[Term]) -> Term:
    left, right = string_of(name, of[0]), literal_string(name, of[1])
    if not right:
        raise NotProven("instr() of nothing")
    return made(f"CAST(instr({left.sql}, {text(right)}) AS INTEGER)", INT, left, name=call_name(name, *of))


@enter(SCALARS, "locate", 2)
def _locate(name: str, of: Sequence[Term]) -> Term:
    return _instr(name, [of[1], of[0]]).named(None)


@enter(SCALARS, "lpad rpad", 3)
def _pad(name: str, of: Sequence[Term]) -> Term:
    term, length, filling = string_of(name, of[0]), literal_whole(name, of[1]), literal_string(name, of[2])
    if length < 0 or not filling:
        raise NotProven(f"{name}() to {length}")
    return made(f"{name}({term.sql}, {length}, {text(filling)})", STRING, term, name=call_name(name, *of))


@enter(SCALARS, "split", 2)
def _split(name: str, of: Sequence[Term]) -> Term:
    term, separator = string_of(name, of[0]), patterns.plain_separator(literal_string(name, of[1]))
    return made(f"string_split({term.sql}, {text(separator)})", array(STRING), term)


@enter(SCALARS, "substring_index", 3)
def _substring_index(name: str, of: Sequence[Term]) -> Term:
    term, separator, count = string_of(name, of[0]), literal_string(name, of[1]), literal_whole(name, of[2])
    if not separator or count == 0:
        raise NotProven("substring_index() of nothing")
    parts = f"string_split({term.sql}, {text(separator)})"
    part = f"{parts}[:{count}]" if count > 0 else f"{parts}[{count}:]"
    if len(separator) > 1 and count < 0:
        # From the end, occurrences that overlap are others.
        raise NotProven("substring_index() from the end")
    return made(f"array_to_string({part}, {text(separator)})", STRING, term, name=call_name(name, *of))


def printable(term: Term, otherwise: str) -> str:
    """The value of a regular expression's search in printable ASCII; of anything else Spark is asked."""
    return refused_where(f"NOT regexp_full_match({term.sql}, '[ -~]*')", otherwise, _ASCII)


@enter(SCALARS, "regexp_like rlike regexp", 2)
def _regexp_like(name: str, of: Sequence[Term]) -> Term:
    term, pattern = string_of(name, of[0]), patterns.regex(literal_string(name, of[1]))
    sql = printable(term, f"regexp_matches({term.sql}, {text(pattern)})")
    return made(sql, BOOLEAN, term)


@enter(SCALARS, "regexp_extract", 2, 3)
def _regexp_extract(name: str, of: Sequence[Term]) -> Term:
    term, pattern = string_of(name, of[0]), patterns.regex(literal_string(name, of[1]))
    group = literal_whole(name, of[2]) if len(of) == 3 else 1
    if not 0 <= group <= len(re.findall(r"(?<!\\)\((?!\?)", pattern)):
        raise NotProven(f"regexp_extract() of group {group}")
    sql = printable(term, f"regexp_extract({term.sql}, {text(pattern)}, {group})")
    return made(sql, STRING, term)


@enter(SCALARS, "regexp_replace", 3)
def _regexp_replace(name: str, of: Sequence[Term]) -> Term:
    term, pattern = string_of(name, of[0]), patterns.regex(literal_string(name, of[1]))
    new = literal_string(name, of[2])
    if "$" in new or "\\" in new or re.search(pattern, ""):
        raise NotProven("regexp_replace() by more than a text, or of nothing")
    sql = printable(term, f"regexp_replace({term.sql}, {text(pattern)}, {text(new)}, 'g')")
    return made(sql, STRING, term)


# ---------------------------------------------------------------- JSON

_PATH = re.compile(r"\$(?:\.[A-Za-z_][A-Za-z0-9_]*|\[\d{1,4}\])+")


@enter(SCALARS, "get_json_object", 2)
def _get_json_object(name: str, of: Sequence[Term]) -> Term:
    term, path = string_of(name, of[0]), literal_string(name, of[1])
    if not _PATH.fullmatch(path):
        raise NotProven(f"the path '{path}'")
    return made(f"json_extract_string({term.sql}, {text(path)})", STRING, term, name=call_name(name, *of))


def type_named(kind: Type) -> str:
    """The type in the JSON that DuckDB's from_json takes as its second argument."""
    match kind.name:
        case "array":
            return f"[{type_named(kind.item)}]"
        case "struct":
            return "{" + ", ".join(f'"{name}": {type_named(of)}' for name, of in kind.fields) + "}"
        case _:
            return f'"{kind.duck}"'


def from_json(term: Term, kind: Type) -> Term:
    """from_json(term, 'ddl'): a struct."""
    return made(f"from_json({term.sql}, {text(type_named(kind))})", kind, cast(term, STRING))
