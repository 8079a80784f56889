"""All dialects, in the order in which a line is asked: each module here that declares one."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from rollcall.inputs.printed import dialects
from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.logged_facts import BROKER


def _declared() -> list[Dialect]:
    modules = (import_module(f"{dialects.__name__}.{found.name}") for found in pkgutil.iter_modules(dialects.__path__))
    return [module.DIALECT for module in modules if hasattr(module, "DIALECT")]


DIALECTS: tuple[Dialect, ...] = tuple(sorted(_declared(), key=lambda one: (one.name == BROKER, one.name)))
"""Brokers last: their lines may stand without any prefix that tells them."""
