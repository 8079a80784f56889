"""Cases of a test of which a few run always, and the others in `make test-all` alone.

Knows pytest's marks; must not know a test.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def nightly_but(always: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """The cases in their order, for `parametrize`. always: those that run in `make test` as well; each must be one."""
    found = list(cases)
    assert all(case in found for case in always), (always, found)
    return [case if case in always else pytest.param(*_values(case), marks=pytest.mark.nightly) for case in found]


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
