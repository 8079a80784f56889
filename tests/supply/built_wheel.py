"""The wheel, built of a copy of this checkout. Knows pip; must not know what is in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.source_tree import ROOT

NOT_COPIED = (".*", "build", "dist", "docs", "tests", "benchmarks", "*.egg-info", "__pycache__")


def built(folder: Path) -> Path:
    """The wheel, in a folder; of a copy, since setuptools takes what an earlier build left behind."""
    shutil.copytree(ROOT, folder / "source", ignore=shutil.ignore_patterns(*NOT_COPIED))
    building = ["wheel", "-q", "--no-build-isolation", "--no-deps", "--no-index", "-w", str(folder), "./source"]
    subprocess.run([sys.executable, "-m", "pip", *building], cwd=folder, check=True)
    (wheel,) = folder.glob("rollcall-*.whl")
    return wheel
