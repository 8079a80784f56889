"""`make golden [WRITE=1] [CASES="d-kill/log killed"]`: which golden facts differ from those that are kept.

The lines of each case are in build/golden, so that two states of the code can be compared there fact by fact: those of
the run before are kept beside them, and a difference prints its lines. Knows the command line.
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

# A format of who runs this would read the lines too. Formats are read by the imports below, here and in the pool.
os.environ["ROLLCALL_FORMATS"] = ""

from tests.golden.cases import cases
from tests.golden.drivers import differing
from tests.golden.kept import KEPT, kept_rows, say
from tests.source_tree import ROOT

BUILD = ROOT / "build" / "golden"
SHOWN_LINES = 20


def main(words: list[str]) -> int:
    is_written, asked = "--write" in words, [word for word in words if word != "--write"]
    chosen = [case for name, case in cases().items() if not asked or name.startswith(tuple(asked))]
    kept, different = kept_rows(), 0
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for row, texts in pool.map(say, chosen):
            if row != kept.get(row["case"]):
                different += 1
                _print_difference(row, kept.get(row["case"]), texts)
            _write_texts(row["case"], texts)
            kept[row["case"]] = row
    if is_written:
        if not asked:
            kept = {name: kept[name] for name in cases()}
        KEPT.write_text("".join(f"{json.dumps(row)}\n" for _, row in sorted(kept.items())))
    print(f"{len(chosen)} cases, {different} differ from {KEPT.relative_to(ROOT)}.")
    for name, programs in (("rebalances", ("explain", "replay")), ("shadow_rebalances", ("shadow", "replay"))):
        alone = {one: sum(row[name][f"{one} alone"] for row in kept.values() if name in row) for one in programs}
        print(f"Rebalances of {' and '.join(programs)}: {', '.join(f'{alone[one]} by {one} alone' for one in alone)}.")
    return int(different > 0 and not is_written)


def _print_difference(row: dict[str, Any], before: dict[str, Any] | None, texts: dict[str, list[str]]) -> None:
    print(f"{row['case']}: {'new' if before is None else 'differs'}")
    for name, value in row.items():
        if name != "case" and before is not None and before.get(name) != value:
            print(f"  {name}: {before.get(name)} -> {value}")
            old = _place(row["case"], name)
            if name in texts and old.exists():
                lines = [*differing(old.read_text().split("\n"), texts[name])]
                print("".join(f"    {line[:300]}\n" for line in lines[:SHOWN_LINES]), end="")
                print(f"    and {len(lines) - SHOWN_LINES} more lines\n" if len(lines) > SHOWN_LINES else "", end="")


def _write_texts(case: str, texts: dict[str, list[str]]) -> None:
    for program, lines in texts.items():
        place = _place(case, program)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("\n".join(lines))


def _place(case: str, program: str) -> Path:
    return BUILD / case / f"{program}.txt"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
