"""What brokers printed in every recorded incident, replayed without a request log, holds no row that cannot be.

Whole, without the DEBUG lines that nobody has, begun in the middle, and with lines missing. All of it is one home, in
which a group's name says which part of which log it is of.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from app_logs.files import open_blocks
from app_logs.group_effects import effects_of
from app_logs.reading import merged, read_lines
from app_logs.story import groups_in
from jobs.check import broken_rules
from jobs.home import Home
from schemas.effect_rows import row_of
from tests.source_tree import ROOT
from tests.views.story import write_effects

LOGS = ROOT / "tests" / "app_logs"


def parts_of(lines: list[str], seed: int) -> Iterator[tuple[str, list[str]]]:
    """Lines as people keep them; the same for each seed."""
    chance = random.Random(seed)
    yield "whole", lines
    plain = [line for line in lines if " DEBUG " not in line]
    yield "plain", plain
    if len(plain) < 2:
        return
    begins = chance.randrange(len(plain))
    yield f"from line {begins}", plain[begins:]
    first, last = sorted(chance.sample(range(len(plain)), 2))
    yield f"without lines {first} to {last}", plain[:first] + plain[last:]
    yield "without a tenth", [line for line in plain if chance.random() > 0.1]


def test_no_part_of_what_a_broker_printed_holds_a_row_that_cannot_be(tmp_path: Path) -> None:
    facts = {}
    files = [*LOGS.glob("brokers/*.log.gz"), *LOGS.glob("incidents/*/server*.log.gz")]
    for seed, file in enumerate(sorted(files)):
        lines = b"".join(open_blocks(str(file))).decode().splitlines()
        for part, kept in parts_of(lines, seed):
            for group in groups_in(merged([read_lines(file.name, kept)])):
                effects = effects_of(group)
                assert [one.at_ms for one in effects] == sorted(one.at_ms for one in effects)
                name = f"{file.parent.name}/{file.name}, {part}: {group.group_id}"
                facts[name] = [row_of(effect, seq) for seq, effect in enumerate(effects, 1)]
    assert len(facts) > 300
    write_effects(tmp_path, facts)
    assert {rule.name: rows[:3] for rule, rows in broken_rules(Home(tmp_path))} == {}
