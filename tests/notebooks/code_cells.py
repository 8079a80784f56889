"""Writes the code of each notebook as a module into build/notebooks, so that mypy finds a name that is no more."""

from __future__ import annotations

import json

from tests.source_tree import ROOT

FOLDER = ROOT / "build" / "notebooks"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        code = (
            "".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"
        )
        (FOLDER / f"notebook_{path.stem.replace('-', '_')}.py").write_text("\n\n".join(code) + "\n")


if __name__ == "__main__":
    main()
