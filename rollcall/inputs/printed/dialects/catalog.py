"""All dialects, in the order in which a line is asked: each file here that declares one."""

from __future__ import annotations

from importlib.resources import files

from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.dialects.formats import ENDING, dialect_in
from rollcall.inputs.printed.logged_facts import BROKER

FOLDER = files(__package__)
DIALECTS: tuple[Dialect, ...] = tuple(
    sorted(
        (dialect_in(file) for file in FOLDER.iterdir() if file.name.endswith(ENDING)),
        key=lambda one: (one.name == BROKER, one.name),
    )
)
"""Brokers last: their lines may stand without any prefix that tells them."""
BROKERS = DIALECTS[-1]
