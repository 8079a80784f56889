"""What each program says of a case, as sorted lines of text: `explain`, `replay`, and `shadow` of one log.

Knows the programs' entrances. Must not know which recordings there are.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

from deltalake import DeltaTable

from rollcall.__main__ import main
from rollcall.answers.sql.engine import ask
from rollcall.inputs.explained_files import answer_of
from rollcall.inputs.following.following import Following
from rollcall.shown.explained_json import as_json
from rollcall.tables.home import Home
from tests.shadow.finished_log import each_heartbeat
from tests.shadow.ticks import finish

_KILLS = 0.2
_OF_PLACE = {"seq", "request_seq", "at_date"}
"""Columns that say where a fact stands, and not what it is."""
_SHARED = ("generation_id", "cause", "is_inferred", "cause_member_id", "cause_client_id", "cause_client_host")
_REBALANCES = """
    select group_id, coalesce(to_generation_id, from_generation_id + 1) as generation_id, cause, is_inferred,
      cause_member_id, cause_client_id, cause_client_host, cause_candidates
    from rebalances
"""
"""One that still runs is named by the generation that it would lead to, as `explain` names it."""


def explained(paths: Sequence[Path]) -> tuple[list[str], list[str]]:
    """What `explain` says, and of each rebalance what a home has too."""
    answer = answer_of([str(path) for path in paths], None)
    said = as_json(answer, answer.groups)
    lines = [f"left open: {one}" for one in said.get("left_open", ())]
    rebalances = []
    for group in said["groups"]:
        group_id = group["group_id"]
        for one in group["rebalances"]:
            lines.append(f"{group_id} rebalance {_text(one)}")
            rebalances.append(_reported(group_id, [one[name] for name in _SHARED], one["cause_candidates"]))
        lines += [f"{group_id} finding {_text(one)}" for one in group["findings"]]
    return _cleaned(lines, paths), sorted(rebalances)


def replayed(paths: Sequence[Path], home: Path) -> tuple[list[str], list[str]]:
    """The facts of a replay's home, and of each rebalance what `explain` says too; none if nothing is understood."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        status = main(["replay", *map(str, paths), "--home", str(home), "--processes", "1"])
    if status != 0:
        return [f"exit status {status}"], []
    return _cleaned(map(_fact, _facts(home)), paths), _rebalances(home)


def followed(
    path: Path, home: Path, seed: int, started: Callable[[Home, Path], Following]
) -> tuple[list[str], list[str]]:
    """The same of a shadow of a log that grows by random steps, and is killed now and then."""
    chance, at = Random(seed), Home(home)
    whole, grown = gzip.decompress(path.read_bytes()), home.parent / f"{home.name}.log"
    grown.touch()
    following, place = started(at, grown), 0
    while place < len(whole):
        size = chance.randrange(1, max(2, len(whole) // 8))
        with grown.open("ab") as file:
            file.write(whole[place : place + size])
        place += size
        following.step()
        if chance.random() < _KILLS:
            following = started(at, grown)
    finish(following)
    facts = (_followed(one) for row in _facts(home) for one in each_heartbeat(row))
    return _cleaned(facts, [grown]), _rebalances(home)


def _facts(home: Path) -> list[dict[str, Any]]:
    return DeltaTable(str(home / "effects")).to_pyarrow_table().to_pylist()


def _rebalances(home: Path) -> list[str]:
    return sorted(_reported(row[0], row[1:-1], row[-1] or ()) for row in ask(home, _REBALANCES).rows)


def _followed(row: dict[str, Any]) -> str:
    """A fact. An accepted heartbeat goes by its member, since its run ends with a commit."""
    if (row["effect"], row["api"], row["error_code"]) == ("reply", "Heartbeat", "NONE"):
        return f"{row['group_id']} {row['at_ms']} heartbeat {row['member_id']}"
    return _fact(row)


def _reported(group_id: str, fields: Iterable[Any], candidates: Iterable[str]) -> str:
    return " ".join(str(one if one is not None else "") for one in (group_id, *fields, *sorted(set(candidates))))


def _fact(row: dict[str, Any]) -> str:
    given = {name: value for name, value in row.items() if name not in _OF_PLACE and value not in (None, "")}
    return f"{row['group_id']} {row['at_ms']} {row['effect']} {_text(given)}"


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)


def _cleaned(lines: Iterable[str], paths: Sequence[Path]) -> list[str]:
    """The lines in order, without the folder of the files."""
    folder = f"{paths[0].parent}/"
    return sorted(line.replace(folder, "") for line in lines)


def differing(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Lines of one alone, as a diff shows them."""
    old, new = set(before), set(after)
    yield from (f"- {line}" for line in before if line not in new)
    yield from (f"+ {line}" for line in after if line not in old)
