"""The SQL that opens an effect's detail: the names and types of its fields are those of the effect's class.

Knows how a declared type is called in Spark. Must not know any view.
"""

from __future__ import annotations

from functools import cache

from msgspec import inspect

from schemas.effects import Effect
from schemas.shapes import Shape

_INT_MAX = 2**31 - 1


def opened(fields: str, *kinds: type[Effect], of: str = "detail") -> str:
    """`from_json` of these fields of a detail, each of the type that it has in the first of the kinds that has it.

    of: the SQL of the detail.

    Raises KeyError: no kind has a field of that name.
    """
    types = {name: of for kind in reversed(kinds) for name, of in _types(kind).items()}
    listed = ", ".join(f"{name} {types[name]}" for name in fields.split())
    return f"from_json({of}, '{listed}')"


@cache
def _types(kind: type[Shape]) -> dict[str, str]:
    """The fields of a shape and what Spark calls their types."""
    return {field.encode_name: _named(field.type) for field in inspect.type_info(kind).fields}  # type: ignore[attr-defined]


def _named(of: inspect.Type) -> str:
    match of:
        case inspect.IntType(le=le):
            return "INT" if le == _INT_MAX else "BIGINT"
        case inspect.BoolType():
            return "BOOLEAN"
        case inspect.StrType() | inspect.EnumType() | inspect.BytesType():
            return "STRING"
        case inspect.UnionType(types=types):
            (one,) = (each for each in types if not isinstance(each, inspect.NoneType))
            return _named(one)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return f"ARRAY<{_named(item)}>"
        case inspect.StructType(cls=cls):
            return f"STRUCT<{', '.join(f'{name}: {each}' for name, each in _types(cls).items())}>"
        case _:
            raise TypeError(f"no type of Spark for {of}")
