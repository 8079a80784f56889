"""`make package`: the project's packages as one zip for spark-submit's --py-files.

    rollcall package [dist/rollcall.zip]

Knows where packages lie. The packages that pyproject.toml pins are not in the zip: the cluster's Python must have them.
"""

from __future__ import annotations

import zipfile
from importlib.metadata import distribution
from pathlib import Path

from rollcall.jobs.spark.jars import IS_CHECKOUT, ROOT

NOT_PACKED = ("tests", "benchmarks")
TARGET = (ROOT if IS_CHECKOUT else Path()) / "dist" / "rollcall.zip"
# A fixed time, so that the same sources give the same bytes.
_MADE = (1980, 1, 1, 0, 0, 0)


def packages() -> list[Path]:
    """The project's packages, without tests and benches."""
    if not IS_CHECKOUT:
        # Other packages lie beside them.
        names = (distribution("rollcall").read_text("top_level.txt") or "").split()
        return sorted(ROOT / name for name in names if (ROOT / name / "__init__.py").is_file())
    return sorted(path.parent for path in ROOT.glob("*/__init__.py") if path.parent.name not in NOT_PACKED)


def pack(target: Path = TARGET) -> Path:
    """Writes the zip; a file's place in it is its place in the checkout."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(path for package in packages() for path in package.rglob("*.py")):
            entry = zipfile.ZipInfo(path.relative_to(ROOT).as_posix(), _MADE)
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target
