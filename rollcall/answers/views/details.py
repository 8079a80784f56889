"""The SQL that opens an effect's detail: the names and types of its fields are those of the effect's class.

Knows Spark's names of declared types. Must not know any view.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from msgspec import inspect

from rollcall.schemas.effects import Effect
from rollcall.schemas.shapes import Shape

_INT_MAX = 2**31 - 1
_FIELD = re.compile(r"(\w+)(?:\(([\w ]+)\))?")


def opened(fields: str, *kinds: type[Effect], of: str = "detail") -> str:
    """`from_json` of these fields of a detail, each of the type that it has in the first of the kinds that has it.

    fields: `a b(c d)` opens a, and only c and d of the structs in b. of: the SQL of the detail.

    Raises KeyError: no kind has a field of that name.
    """
    types = {name: of for kind in reversed(kinds) for name, of in _types(kind).items()}
    listed = ", ".join(f"{name} {_named(types[name], only.split())}" for name, only in _FIELD.findall(fields))
    return f"from_json({of}, '{listed}')"


def facts(fields: str, *kinds: type[Effect], columns: str = "group_id, at_ms, seq", table: str = "effects") -> str:
    """The facts of these kinds as a table in SQL: columns of effects, and `said`, these fields of their details."""
    names = ", ".join(f"'{kind.__struct_config__.tag}'" for kind in kinds)
    of_kind = f"effect = {names}" if len(kinds) == 1 else f"effect IN ({names})"
    return f"(SELECT {columns}, {opened(fields, *kinds)} AS said FROM {table} WHERE {of_kind})"


@cache
def _types(kind: type[Shape]) -> dict[str, inspect.Type]:
    return {field.encode_name: field.type for field in inspect.type_info(kind).fields}  # type: ignore[attr-defined]


def _named(of: inspect.Type, only: Sequence[str] = ()) -> str:
    """Spark's name of a type. only: the fields of its structs, by default all."""
    match of:
        case inspect.IntType(le=le):
            return "INT" if le == _INT_MAX else "BIGINT"
        case inspect.BoolType():
            return "BOOLEAN"
        case inspect.StrType() | inspect.EnumType() | inspect.BytesType():
            return "STRING"
        case inspect.UnionType(types=types):
            (one,) = (each for each in types if not isinstance(each, inspect.NoneType))
            return _named(one, only)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return f"ARRAY<{_named(item, only)}>"
        case inspect.DictType(key_type=key, value_type=value):
            return f"MAP<{_named(key)}, {_named(value)}>"
        case inspect.StructType(cls=cls):
            fields = _types(cls)
            return f"STRUCT<{', '.join(f'{name}: {_named(fields[name])}' for name in only or fields)}>"
        case _:
            raise TypeError(f"no type of Spark for {of}")
