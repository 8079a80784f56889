"""The golden facts of recordings are what is kept; the quick cases here, all of them by `make golden`."""

from __future__ import annotations

import pytest

from tests.golden.cases import QUICK, cases
from tests.golden.kept import kept_rows, say
from tests.nightly import nightly_but

CASES = cases()


@pytest.mark.parametrize("name", nightly_but(sorted(QUICK), sorted(CASES)))
def test_golden_facts_are_what_is_kept(name: str) -> None:
    row, _ = say(CASES[name])
    assert row == kept_rows()[name], "`make golden` shows which facts differ"


def test_every_case_is_kept() -> None:
    assert sorted(kept_rows()) == sorted(CASES)
