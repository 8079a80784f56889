"""The golden facts: of every case how many lines each program says, a hash of them, and how far two programs agree.

`make golden` compares all cases with `golden.jsonl` and prints what differs; `make golden WRITE=1` keeps them as they
are now. Knows cases and programs.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rollcall.inputs.following.following import Following
from rollcall.tables.home import Home
from tests.golden.cases import Case, lay_out
from tests.golden.drivers import differing, explained, followed, replayed
from tests.shadow import printed_shadow, request_shadow

KEPT = Path(__file__).parent / "golden.jsonl"
STARTED: dict[str, Callable[[Home, Path], Following]] = {"lines": printed_shadow.started, "log": request_shadow.started}
"""By the form of input, how its shadow is started."""
SEED = 7


def say(case: Case) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The row that is kept of a case, and what each program says of it."""
    texts: dict[str, list[str]] = {}
    with TemporaryDirectory(prefix="golden-") as folder:
        files = Path(folder) / "files"
        files.mkdir()
        paths = lay_out(case, files)
        texts["explain"], explain_tells = explained(paths)
        texts["replay"], replay_tells = replayed(paths, Path(folder) / "home")
        if (started := STARTED.get(case.name.partition("/")[2])) is not None:
            texts["shadow"], shadow_tells = followed(paths[0], Path(folder) / "shadow", SEED, started)
    row: dict[str, Any] = {"case": case.name, "rebalances": _agreed(explain=explain_tells, replay=replay_tells)}
    row |= {name: {"lines": len(lines), "hash": _hash(lines)} for name, lines in texts.items()}
    if "shadow" in texts:
        row["shadow_rebalances"] = _agreed(shadow=shadow_tells, replay=replay_tells)
        texts["shadow_rebalances"] = [*differing(replay_tells, shadow_tells)]
    return row, texts


def _agreed(**tells: Sequence[str]) -> dict[str, int]:
    """How many rebalances two programs tell alike, and how many each of them alone."""
    one, other = map(Counter, tells.values())
    both = (one & other).total()
    return {"both": both, **{f"{program} alone": len(reported) - both for program, reported in tells.items()}}


def kept_rows() -> dict[str, dict[str, Any]]:
    """The rows that are kept, by case."""
    if not KEPT.exists():
        return {}
    return {row["case"]: row for row in map(json.loads, KEPT.read_text().splitlines())}


def _hash(lines: Sequence[str]) -> str:
    return hashlib.blake2b("\n".join(lines).encode(errors="surrogatepass"), digest_size=8).hexdigest()
