"""`make package`: one zip for spark-submit's --py-files.

    rollcall package [dist/rollcall.zip]

Knows where files lie. The packages of rollcall[spark] are not in the zip: the cluster's Python must have them.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

from rollcall.jobs.spark.jars import IS_CHECKOUT
from rollcall.programs.version import ROOT

TARGET = (ROOT if IS_CHECKOUT else Path()) / "dist" / "rollcall.zip"
# A fixed time, so that the same sources give the same bytes.
_MADE = (1980, 1, 1, 0, 0, 0)


def sources() -> Iterator[Path]:
    """The package's Python files, those of linked folders too, and the wordings of logs."""
    for folder, _, names in os.walk(ROOT / "rollcall", followlinks=True):
        yield from (Path(folder) / name for name in names if name.endswith((".py", ".toml")))


def pack(target: Path = TARGET) -> Path:
    """Writes the zip; a file's place in it is its place where the wheel is installed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(sources()):
            entry = zipfile.ZipInfo(path.relative_to(ROOT).as_posix(), _MADE)
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target
