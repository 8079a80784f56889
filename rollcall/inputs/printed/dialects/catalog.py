"""All dialects: each file here that declares one, and each in the folder of a user's own.

ROLLCALL_FORMATS names that folder. A file of it stands in the place of ours with its name, and is checked before it is
used: it reads its own samples, but not ours. No dialect reads a sample of another one, so their order decides
nothing that a sample shows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path

from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.dialects.formats import ENDING, dialect_in
from rollcall.inputs.printed.logged_facts import BROKER
from rollcall.programs.errors import UserError

FOLDER = files(__package__)
VARIABLE = "ROLLCALL_FORMATS"
BY_DEFAULT = "~/.config/rollcall/formats"


def own_folder() -> Path | None:
    """The folder of the user's own files, or None. Raises UserError if the named one is not a folder."""
    named = os.environ.get(VARIABLE)
    path = os.path.expanduser(BY_DEFAULT if named is None else named)  # Not Path's, which fails without a home.
    if named and not os.path.isdir(path):
        raise UserError(f"{VARIABLE}={named}: there is no such folder.")
    if not os.path.isdir(path):
        return None
    if not os.access(path, os.R_OK | os.X_OK):
        raise UserError(f"{VARIABLE}={path}: the folder cannot be read.")
    return Path(path)


def _in(folder: Traversable | None) -> dict[str, Traversable]:
    found = () if folder is None else folder.iterdir()
    return {file.name.removesuffix(ENDING): file for file in found if file.name.endswith(ENDING)}


def _loaded(own: Mapping[str, Traversable]) -> tuple[Dialect, ...]:
    loaded = sorted(map(dialect_in, FORMATS.values()), key=lambda one: (one.name == BROKER, one.name))
    if not own:
        return (*loaded,)
    from rollcall.inputs.printed.dialects.checks import problems  # Takes time, and few have files of their own.

    refused = [problem for file in own.values() for problem in problems(file, loaded)]
    added = [one for one in loaded if one.name in own]
    ours = (file for name, file in FORMATS.items() if name not in own)
    if not refused:
        refused = [*islice((problem for file in ours for problem in problems(file, added)), 1)]
    if refused:
        raise UserError(*refused)
    return (*loaded,)


_OWN = _in(own_folder())
FORMATS = {**_in(FOLDER), **_OWN}
"""Each dialect's file, by its name."""
DIALECTS = _loaded(_OWN)
"""Brokers last: their lines may stand without any prefix that tells them."""
BROKERS = DIALECTS[-1]
