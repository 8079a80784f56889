"""Rollcall: a coordinator of Kafka's consumer groups that forgets nothing.

In a notebook `rollcall.open(home)` asks a home, and `rollcall.explain(files)` explains logs: see `rollcall.notebook`.
It must parse on Python 3.6, because `rollcall.programs.preflight` runs before .venv exists.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollcall.notebook import UserError, explain, open

__all__ = ["UserError", "explain", "open"]


def __getattr__(name: str) -> Any:
    """What is exported, imported when it is first used: every program of ours imports this package."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rollcall import notebook

    return getattr(notebook, name)
