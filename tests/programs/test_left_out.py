"""A package that is left out is not found by whom it is no need, and is found again later."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from rollcall.programs.extras import left_out


def test_a_package_is_not_found_while_it_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    monkeypatch.setattr("builtins.print", lambda *_: None)
    with left_out("this"):
        with pytest.raises(ModuleNotFoundError, match="No module named 'this'"):
            import_module("this")
        import_module("json")
    import_module("this")
    with left_out("this"):
        import_module("this")
