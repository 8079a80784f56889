"""Messages name commands as they are typed: make's after make, else rollcall's."""

from __future__ import annotations

import pytest

from rollcall.programs.typed import as_typed


def test_after_make_the_commands_are_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert as_typed("make sql", "rollcall sql") == "rollcall sql"
    monkeypatch.setenv("MAKELEVEL", "1")
    assert as_typed("make sql", "rollcall sql") == "make sql"
