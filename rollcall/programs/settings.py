"""Settings: `key=value` texts, from a file or a command line, into a frozen dataclass that declares its keys.

A field declares its key, what it means and its bounds as metadata: `setting` makes it, and a layer that may not import
this module writes the same mapping. The field's type says how its text is read; msgspec converts what is plain.

Knows texts, types and bounds. Must not know any setting.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import EnumType
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from rollcall.programs.errors import ConfigError

Settings = TypeVar("Settings")

_SIMILAR = 0.75
_KINDS: dict[Any, str] = {int: "is not a whole number", bool: "is neither true nor false"}


@dataclass(frozen=True, slots=True)
class Key:
    """How a setting is spelt, what it means, and its bounds where it is a number."""

    name: str
    means: str = ""
    least: int | None = None
    most: int | None = None


def setting(
    key: str,
    default: Any = MISSING,
    means: str = "",
    *,
    least: int | None = None,
    most: int | None = None,
    default_factory: Any = MISSING,
) -> Any:
    """A dataclass's field that is a setting: a number is at least 0 unless it says otherwise."""
    if least is None and type(default) is int:
        least = 0
    metadata = {"key": key, "means": means, "least": least, "most": most}
    if default_factory is not MISSING:
        return field(default_factory=default_factory, metadata=metadata)
    return field(default=default, metadata=metadata)


@cache
def keys_of(kind: Any) -> Mapping[str, Key]:
    """The keys that a dataclass declares, by its fields' names."""
    return {
        each.name: Key(
            each.metadata["key"],
            each.metadata.get("means", ""),
            each.metadata.get("least"),
            each.metadata.get("most"),
        )
        for each in fields(kind)
        if "key" in each.metadata
    }


@cache
def names_of(kind: Any) -> frozenset[str]:
    """How all keys of a dataclass are spelt, those of its parts included."""
    own = frozenset(key.name for key in keys_of(kind).values())
    return own.union(*(names_of(part) for part in _parts(kind).values()))


def from_texts(kind: Callable[..., Settings], texts: Mapping[str, str], **given: Any) -> Settings:
    """Settings by their keys' texts, the others at their defaults. given: values of fields that have no key.

    A part is a field that has no key, but is a dataclass that declares some. Raises ConfigError, in this order: an
    unknown key, an unfit value, one out of bounds, a contradiction (the dataclass's own ConfigError or ValueError).
    """
    keys, hints, known = keys_of(kind), _hints(kind), names_of(kind)
    unknown = [spelt for spelt in texts if spelt not in known]
    if unknown:
        raise unknown_key(unknown[0], sorted(known), f"known are {', '.join(sorted(known))}")
    values: dict[str, Any] = {}
    for name, key in keys.items():
        if key.name in texts:
            values[name] = _value(key, hints[name], texts[key.name].strip())
    for name, part in _parts(kind).items():
        of_part = {spelt: text for spelt, text in texts.items() if spelt in names_of(part)}
        if of_part:
            values[name] = from_texts(part, of_part)
    try:
        return kind(**values, **given)
    except ValueError as contradiction:
        raise ConfigError(str(contradiction)) from None


def unknown_key(key: str, known: Iterable[str], otherwise: str = "", prefixes: tuple[str, ...] = ()) -> ConfigError:
    """An error that names the unknown setting and the likely one, or `otherwise`. prefixes: ignored in comparisons."""

    def short(name: str) -> str:
        for prefix in prefixes:
            name = name.removeprefix(prefix)
        return name

    by_short = {short(name): name for name in known}
    found = difflib.get_close_matches(short(key), by_short, n=1, cutoff=_SIMILAR)
    hint = f"did you mean {by_short[found[0]]}?" if found else otherwise
    return ConfigError(f"is not a setting{f'; {hint}' if hint else ''}", key)


def read_file(path: Path) -> dict[str, str]:
    """The `key=value` lines of a settings file; # begins a comment line. Raises ConfigError, naming the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    pairs: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        pair = split_pair(line)
        if pair is None:
            raise ConfigError(f"{path} line {number}: {line.strip()!r} is not of the form key=value")
        key, value = pair
        if key in pairs:
            raise ConfigError(f"{path} line {number}: {key} is given twice")
        pairs[key] = value
    return pairs


def read_words(words: Iterable[str]) -> dict[str, str]:
    """Return the pairs of `key=value` words of --set; a text may have several. Raises ConfigError."""
    return read_pairs((word for text in words for word in text.split()), "--set ")


def read_pairs(words: Iterable[str], option: str) -> dict[str, str]:
    """`key=value` words of a command line, of one key the last. option: as it stands before the word, `--set `.

    Raises ConfigError, naming the option and the text.
    """
    pairs = {}
    for text in words:
        pair = split_pair(text)
        if pair is None:
            raise ConfigError(f"{option}{text}: is not of the form key=value")
        key, pairs[key] = pair
    return pairs


def split_pair(text: str) -> tuple[str, str] | None:
    """The key and the value of `key=value`, without the blanks around them; None if the text is of another form."""
    key, equals, value = text.partition("=")
    return (key.strip(), value.strip()) if equals and key.strip() else None


def parse_topics(text: str) -> dict[str, int]:
    """`t1:4,t2:4` -> {"t1": 4, "t2": 4}; an empty text names no topic at all. Raises ConfigError."""
    topics: dict[str, int] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, colon, count = part.rpartition(":")
        if not colon or not name or not count.isdecimal() or int(count) < 1:
            raise ConfigError(f"{part!r} is not of the form topic:partitions", "topics", text)
        topics[name] = int(count)
    return topics


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _parts(kind: Any) -> dict[str, Any]:
    """The dataclasses with keys that are fields of this one, by the fields' names."""
    kinds = {each.name: _hints(kind)[each.name] for each in fields(kind) if "key" not in each.metadata}
    return {
        name: part for name, part in kinds.items() if isinstance(part, type) and is_dataclass(part) and names_of(part)
    }


def _value(key: Key, kind: Any, text: str) -> Any:
    """A text as a field's type. Raises ConfigError: it is none, or out of bounds."""
    kinds = [each for each in get_args(kind) if each is not NoneType] if get_origin(kind) in (UnionType, Union) else []
    if kinds:
        kind = kinds[0]
        if not text and kind is not str and get_origin(kind) is not Mapping:
            return None
    try:
        value = _converted(kind, text)
    except ValueError as unfit:
        raise ConfigError(str(unfit), key.name, text) from None
    if isinstance(value, int) and key.least is not None and value < key.least:
        raise ConfigError(f"must be at least {key.least}", key.name, value)
    if isinstance(value, int) and key.most is not None and value > key.most:
        raise ConfigError(f"must be at most {key.most}", key.name, value)
    return value


def _converted(kind: Any, text: str) -> Any:
    """A text as a type: one with `from_text`, a path, topics, a list with commas, otherwise as msgspec reads it.

    Raises ValueError; its text is shown after `key=value: `.
    """
    if hasattr(kind, "from_text"):
        return kind.from_text(text)
    if kind is Path:
        return Path(text).expanduser()
    if get_origin(kind) is Mapping:
        return parse_topics(text)
    if get_origin(kind) is tuple:
        parts = filter(None, (part.strip() for part in text.split(",")))
        return tuple(_part(get_args(kind)[0], part) for part in parts)
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError:
        raise ValueError(_unfit(kind)) from None


def _part(kind: Any, text: str) -> Any:
    try:
        return _converted(kind, text)
    except ValueError as unfit:
        raise ValueError(f"{text!r} {unfit}") from None


def _unfit(kind: Any) -> str:
    """What a text is not."""
    if kind in _KINDS:
        return _KINDS[kind]
    choices = [str(each) for each in (kind if isinstance(kind, EnumType) else get_args(kind))]
    return f"is neither {choices[0]} nor {choices[1]}" if len(choices) == 2 else f"is not one of {', '.join(choices)}"
