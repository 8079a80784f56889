"""What is wrong in a dialect's file: each sample must be read only by its own wording, and say what stands beside it.

Must not know any library's wording.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.resources.abc import Traversable
from typing import Any, get_type_hints

from msgspec import ValidationError, convert

from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.dialects.formats import Sample, Wording, dialect_of, wordings_in
from rollcall.inputs.printed.lines.wrappings import entries_in
from rollcall.inputs.printed.logged_facts import STATED, FactKind, LoggedFact
from rollcall.inputs.printed.templates import IGNORED
from rollcall.programs.errors import UserError

_OF_READING = (FactKind.TWO_MESSAGES, FactKind.UNREADABLE)
_TYPES = get_type_hints(LoggedFact)


def problems(file: Traversable, dialects: Iterable[Dialect]) -> Iterator[str]:
    """Yield each problem of a file, with its name and the wording's. dialects: all others, and perhaps itself."""
    try:
        dialect, wordings = _read(file)
    except UserError as error:
        yield str(error)
        return
    others = [one for one in dialects if one.name != dialect.name]
    for place, wording in enumerate(wordings):
        for problem in _of_a_wording(dialect, wordings, place, others):
            yield f'{file.name}: wording {place + 1} "{wording.text[:60]}" {problem}.'


def _read(file: Traversable) -> tuple[Dialect, list[Wording]]:
    """A dialect and its wordings. Raises UserError for what no sample shows."""
    table, wordings = wordings_in(file)
    for place, wording in enumerate(wordings, 1):
        unknown = {*wording.template.names, *wording.sets} - {*STATED, *IGNORED}
        if unknown:
            raise UserError(f"{file.name}: wording {place} names unknown fields: {', '.join(sorted(unknown))}.")
        if "" in wording.template.literals[1:-1]:
            raise UserError(f"{file.name}: wording {place} has no text between two fields.")
        if wording.fact in _OF_READING:
            raise UserError(f"{file.name}: wording {place} has fact = '{wording.fact}', which no program prints.")
    without_samples = [Wording(one.fact, one.text, one.since, one.sets, one.is_its_own) for one in wordings]
    if wordings_in(file, with_samples=False) != (table, without_samples):
        raise UserError(f"{file.name}: a text has lines that look like a sample's.")
    dialect = dialect_of(file, table, wordings)
    try:
        for heading in (dialect.heading, dialect.among_its_own):
            getattr(heading, "made", None)
    except UserError as error:
        raise UserError(f"{file.name}: {error}") from None
    return dialect, wordings


def _of_a_wording(dialect: Dialect, wordings: list[Wording], place: int, others: list[Dialect]) -> Iterator[str]:
    wording = wordings[place]
    before = [one.text for one in wordings[:place]]
    if wording.text in before:
        yield f"is the text of wording {before.index(wording.text) + 1}"
    elif not wording.sample:
        yield "has no [[wording.sample]]"
    for sample in wording.sample:
        problem = _of_a_sample(dialect, wordings, place, sample, others)
        if problem:
            yield f"{problem}: {sample.line[:160]}"


def _of_a_sample(dialect: Dialect, wordings: list[Wording], place: int, sample: Sample, others: list[Dialect]) -> str:
    entries = [*entries_in("", enumerate(sample.line.split("\n"), 1), lambda line: bool(line.strip()))]
    if len(entries) != 1:
        return f"has a sample of {len(entries)} entries"
    (entry,) = entries
    heading, fact = dialect.read(entry)
    found = None if heading is None else dialect.matched(heading)
    if not dialect.has_mark(entry):
        return "has a sample without a mark"
    if fact is not None and fact.kind is FactKind.UNREADABLE:
        return f"has a sample that cannot be read ({fact.error})"
    if heading is None:
        return "has a sample in which the heading finds no message"
    if found is None or fact is None:
        return "does not read its sample"
    read_by = dialect.templates.all.index(found[0])
    if read_by != place:
        return f"has a sample that wording {read_by + 1} reads"
    if not fact.is_certain:
        return "has a sample that can be read in two ways"
    for other in others:
        is_opened = bool(other.opening) and entry.text.startswith(other.opening)
        if is_opened or (other.has_mark(entry) and other.read(entry)[1] is not None):
            return f"has a sample that {other.name} reads"
    said, expected = _said(fact), {**wordings[place].sets, **sample.says}
    differ = sorted(name for name in {*said, *expected} if said.get(name) != expected.get(name))
    if differ:
        shown = (f"{name} = {said.get(name)!r} instead of {expected.get(name)!r}" for name in differ)
        return f"has a sample that says {', '.join(shown)}"
    return next((f"says {name} = {said[name]!r}: {why}" for name in said if (why := _mistyped(fact, name))), "")


def _mistyped(fact: LoggedFact, name: str) -> str:
    """Why a field cannot have its value; empty if it can."""
    try:
        convert(getattr(fact, name), _TYPES[name])
    except ValidationError as error:
        return str(error)
    return ""


def _said(fact: LoggedFact) -> dict[str, Any]:
    """What a fact has where another has nothing, as TOML has it."""
    said = {name: getattr(fact, name) for name in STATED if getattr(fact, name) != LoggedFact._field_defaults[name]}
    return {name: [*value] if isinstance(value, tuple) else value for name, value in said.items()}
