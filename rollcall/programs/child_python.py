"""How a child process is started that runs a module of ours, wherever the parent was started.

The current folder is not searched: a file `rollcall.py` that lies there is not our package. Knows Python's own
options and environment; must not know what a module does.
"""

from __future__ import annotations

import os
import sys

from rollcall.programs.version import ROOT


def module_command(module: str, *arguments: str) -> list[str]:
    """`python -m module ...` without the current folder on the child's path."""
    return [sys.executable, "-P", "-m", module, *arguments]


def module_environment(**more: str) -> dict[str, str]:
    """This process's environment in which a child finds the same packages, and more variables."""
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, "PYTHONPATH": path, **more}
