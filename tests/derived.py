"""Writes every page and file that the project's own data make, or says which are stale.

    python -m tests.derived             # make derived
    python -m tests.derived --check     # make check

Knows which file comes from where. Must not know how a page is laid out.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# As in tests/golden: the imports below read formats.
os.environ["ROLLCALL_FORMATS"] = ""

from benchmarks.kept import page_of, read_kept
from rollcall.serve.exporter.monitoring import FILES as MONITORING
from tests import field_reports, shares
from tests.protocol.parity import ANSWERS_HEAD, answers_table
from tests.source_tree import ROOT
from tests.supply import licences
from tests.views import page as views

DOCS = ROOT / "docs"
LICENCES = DOCS / "licences.md"
PERFORMANCE = DOCS / "performance.md"
WHAT_IS_PROVEN = DOCS / "what-is-proven.md"


def performance() -> str:
    """docs/performance.md with the figures that are kept: what is measured anew changes them, by `make bench`."""
    return page_of(PERFORMANCE.read_text(), read_kept(DOCS / "performance.jsonl"))


def proven() -> str:
    """docs/what-is-proven.md, with its tables as scenarios, recorded incidents and public reports have them now."""
    page, made = WHAT_IS_PROVEN.read_text(), (ANSWERS_HEAD, answers_table())
    for head, table in (made, (shares.HEAD, shares.table()), (field_reports.HEAD, field_reports.table())):
        page = re.sub(rf"^{re.escape(head)}(\|.*\n)*", table.replace("\\", r"\\"), page, flags=re.MULTILINE)
    return page


PAGES: dict[Path, Callable[[], str]] = {
    DOCS / "views.md": views.page,
    PERFORMANCE: performance,
    WHAT_IS_PROVEN: proven,
    LICENCES: licences.page,
    **{ROOT / "monitoring" / name: made for name, made in MONITORING.items()},
}


def is_stale(path: Path, made: str) -> bool:
    """Whether a file is not what it would be made anew. Other Pythons install other packages: theirs may be listed."""
    written = path.read_text() if path.exists() else ""
    return not {*made.splitlines()} <= {*written.splitlines()} if path == LICENCES else written != made


def stale() -> Iterator[tuple[Path, str]]:
    """Each file that is stale, with what it should be."""
    for path, make in PAGES.items():
        made = make()
        if is_stale(path, made):
            yield path, made


def main() -> None:
    """Exit status 1 where a file is stale and is not to be written."""
    is_checked = "--check" in sys.argv[1:]
    found = list(stale())
    for path, made in found:
        if not is_checked:
            path.write_text(made)
        print(f"{path.relative_to(ROOT)}: {'stale: run make derived' if is_checked else 'written'}")
    sys.exit(1 if found and is_checked else 0)


if __name__ == "__main__":
    main()
