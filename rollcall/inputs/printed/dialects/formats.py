"""The form of a dialect: one file of TOML, so a new library only needs a new file.

    title = "acme's log"                      # who prints it, for people
    example = "INFO acme: {}"                 # a line as it stands in a file, with {} for the message
    marks = ["acme: "]                        # a line without any of these texts is not one of it
    warns_of = ["membership_lost"]            # facts that it warns of, beside those that all warn of
    [heading]
    behind = 'acme(?:\\[(?P<client_id>\\w+)\\])?: '

    [[wording]]
    fact = "membership_lost"
    since = "1.2"                             # the first version with it, for people
    text = "Thrown out of {group_id}"
    sets = { error = "UNKNOWN_MEMBER_ID" }    # what it says of itself, without a field

    [[wording.sample]]
    line = "INFO acme[a-1]: Thrown out of orders"
    says = { client_id = "a-1", group_id = "orders" }

The file's name is the dialect's. `fact` is a kind of `FactKind`. A field in braces is one of `LoggedFact`, or
`{number}`, `{old_state}` or `{}`, which say nothing. A wording stands before those that would read its lines too.
Messages stand without the final dot. Each wording has a sample: whole lines of a file, which only this wording may
read, and all that they say beside `sets`.

`[heading]` finds the message in a line. Its `reader` is a module of `headings`, by default `declared`, which needs no
code: `begins` has patterns of how a message begins wherever it stands, or `behind` the pattern before it, with named
groups for fields. `before` is a pattern looked for before the message, and `ends` one from which on the rest of the
message is cut off. Patterns are RE2's, without lookaround: no line makes one slow. `replaces` has texts to be replaced,
and `keys` names the fields of an object that stands `object_behind` a text. Go's and Python's libraries have the
readers `go` (`begins`) and `python` (`loggers`, `member_ids`; without a logger a wording must have `is_its_own`: no
other library prints it). `[among_its_own]` is a heading for lines that this one does not find, in a file in which it
finds others. Optional are also `level`, `opening` and `is_known_by_heading`, as `Dialect` has them.

Samples are for the check alone, so a program that reads logs leaves them out unparsed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from importlib.resources.abc import Traversable
from inspect import signature
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct, ValidationError, convert, to_builtins

from rollcall.inputs.printed.dialects.dialect import Dialect, Heading
from rollcall.inputs.printed.lines.entries import Entry, level_of
from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.templates import Template, Templates
from rollcall.programs.errors import UserError

ENDING = ".toml"
_T = TypeVar("_T")
_HEADINGS = "rollcall.inputs.printed.dialects.headings"
_SAMPLE = re.compile(r"^\[\[wording\.sample\]\]\n(?:(?!\[).*\n)*", re.MULTILINE)


class Sample(Struct, forbid_unknown_fields=True):
    """A line of a recording, or several that belong together, and what they say."""

    line: str
    says: dict[str, Any] = {}


class Wording(Struct, forbid_unknown_fields=True):
    """One message as its file has it."""

    fact: FactKind
    text: str
    since: str = ""
    sets: dict[str, str | bool] = {}
    is_its_own: bool = False
    sample: list[Sample] = []

    @property
    def template(self) -> Template:
        """The same, to be matched."""
        return Template(self.fact, self.text, since=self.since, is_its_own=self.is_its_own, **self.sets)


class _Options(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a heading may say: the keys of all readers."""

    reader: str = "declared"
    begins: list[str] = []
    behind: str = ""
    before: str = ""
    ends: str = ""
    replaces: dict[str, str] = {}
    object_behind: str = ""
    keys: dict[str, str] = {}
    loggers: list[str] = []
    member_ids: str = ""
    among_its_own: bool = False


class _Declared(Struct, forbid_unknown_fields=True):
    """A file without its wordings."""

    title: str
    example: str
    marks: Annotated[list[Annotated[str, Meta(min_length=1)]], Meta(min_length=1)]
    heading: _Options
    among_its_own: _Options | None = None
    opening: str = ""
    is_known_by_heading: bool = True
    level: str = ""
    warns_of: list[FactKind] = []


class _Reader:
    """The heading of a dialect, which is made when a line asks for it: most files ask few dialects."""

    def __init__(self, name: str, options: _Options, templates: Templates) -> None:
        self._name, self._options, self._templates = name, options, templates

    @cached_property
    def made(self) -> Callable[[Entry], Heading | None]:
        """The function that reads. Raises UserError for options that cannot be used."""
        try:
            return self._made()
        except UserError as error:
            raise UserError(f"[{self._name}] {error}") from None

    def _made(self) -> Callable[[Entry], Heading | None]:
        reader, options = self._options.reader, to_builtins(self._options)
        options.pop("reader", "")
        try:
            heading_of = import_module(f"{_HEADINGS}.{reader}").heading_of
        except (ImportError, AttributeError):
            raise UserError(f"reader = '{reader}': there is no such reader.") from None
        unknown = sorted(options.keys() - signature(heading_of).parameters.keys())
        if unknown:
            raise UserError(f"{unknown[0]}: the reader '{reader}' has no such key.")
        heading: Callable[[Entry], Heading | None] = heading_of(self._templates, **options)
        return heading

    def __call__(self, entry: Entry) -> Heading | None:
        return self.made(entry)


def wordings_in(file: Traversable, *, with_samples: bool = True) -> tuple[dict[str, Any], list[Wording]]:
    """Return what a file says before its wordings, and these. Raise UserError if it is not of this form."""
    try:
        text = file.read_text("utf-8")
        table = tomllib.loads(text if with_samples else _SAMPLE.sub(lambda sample: "\n" * sample[0].count("\n"), text))
    except OSError as error:
        raise UserError(f"{file.name}: cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{file.name}: byte {error.start} is not UTF-8.") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file.name}: {error}.") from None
    wordings = _as(list[Any], table.pop("wording", []), file, "wording: ")
    return table, [_as(Wording, one, file, f"wording {place} ") for place, one in enumerate(wordings, 1)]


def dialect_in(file: Traversable) -> Dialect:
    """Return the dialect of a file, whose samples are not read. Raise UserError if it is not of this form."""
    return dialect_of(file, *wordings_in(file, with_samples=False))


def dialect_of(file: Traversable, table: Mapping[str, Any], wordings: list[Wording]) -> Dialect:
    said = _as(_Declared, table, file)
    level = level_of(said.level)
    if said.level and level is None:
        raise UserError(f"{file.name}: level = {said.level!r} is not a level.")
    templates, own = Templates(one.template for one in wordings), said.among_its_own
    return Dialect(
        name=file.name.removesuffix(ENDING),
        title=said.title,
        marks=(*said.marks,),
        example=said.example,
        heading=_Reader("heading", said.heading, templates),
        among_its_own=None if own is None else _Reader("among_its_own", own, templates),
        templates=templates,
        opening=said.opening,
        is_known_by_heading=said.is_known_by_heading,
        level=level,
        warns_of=(*said.warns_of,),
    )


def _as(kind: type[_T], table: object, file: Traversable, entry: str = "") -> _T:
    try:
        return convert(table, kind)
    except ValidationError as error:
        raise UserError(f"{file.name}: {entry}{error}.") from None
