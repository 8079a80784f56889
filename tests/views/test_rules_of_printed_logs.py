"""What brokers and clients printed in every recorded incident holds no row that cannot be, replayed without requests.

Whole, without the DEBUG lines that nobody has, begun in the middle, and with lines missing. All of it is one home, in
which a group's name says which part of which log it is of.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from rollcall.cli.check import broken_rules
from rollcall.inputs.printed.groups.logged_effects import effects_of
from rollcall.inputs.printed.lines.files import open_blocks
from rollcall.inputs.printed.reading import FileRead, align, merged, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.schemas.effect_rows import EffectRow, row_of
from rollcall.tables.home import Home
from tests.source_tree import ROOT
from tests.views.story import write_effects

LOGS = ROOT / "tests" / "printed"


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


def lines_of(file: Path) -> list[str]:
    return b"".join(open_blocks(str(file))).decode().splitlines()


def facts_of(name: str, reads: list[FileRead]) -> Iterator[tuple[str, list[EffectRow]]]:
    """The rows of each group in the files, under a name that says which log they come from."""
    align(reads)
    for group in groups_in(merged(reads)):
        effects = effects_of(group)
        assert [one.at_ms for one in effects] == sorted(one.at_ms for one in effects)
        yield f"{name}: {group.group_id}", [row_of(effect, seq) for seq, effect in enumerate(effects, 1)]


def assert_no_row_that_cannot_be(home: Path, facts: dict[str, list[EffectRow]]) -> None:
    write_effects(home, facts)
    assert {rule.name: rows[:3] for rule, rows in broken_rules(Home(home))} == {}


def test_no_part_of_what_a_broker_printed_holds_a_row_that_cannot_be(tmp_path: Path) -> None:
    facts: dict[str, list[EffectRow]] = {}
    files = [*LOGS.glob("brokers/*.log.gz"), *LOGS.glob("incidents/*/server*.log.gz")]
    for seed, file in enumerate(sorted(files)):
        for part, kept in parts_of(lines_of(file), seed):
            facts.update(facts_of(f"{file.parent.name}/{file.name}, {part}", [read_lines(file.name, kept)]))
    assert len(facts) > 300
    assert_no_row_that_cannot_be(tmp_path, facts)


@pytest.mark.parametrize("patterns", [("clients/*.gz",), ("server-*.log.gz", "clients/*.gz")], ids=["members", "all"])
def test_no_part_of_what_members_printed_holds_a_row_that_cannot_be(patterns: tuple[str, ...], tmp_path: Path) -> None:
    facts: dict[str, list[EffectRow]] = {}
    for incident in sorted(LOGS.glob("incidents/*")):
        files = [file for pattern in patterns for file in sorted(incident.glob(pattern))]
        parts = [[lines for _, lines in parts_of(lines_of(file), seed)] for seed, file in enumerate(files)]
        for number in range(max(map(len, parts))):
            kept = [own[min(number, len(own) - 1)] for own in parts]
            reads = [read_lines(file.name, lines) for file, lines in zip(files, kept, strict=True)]
            facts.update(facts_of(f"{incident.name}, {number}", reads))
    assert len(facts) > 40
    assert_no_row_that_cannot_be(tmp_path, facts)


def test_no_report_of_the_field_holds_a_row_that_cannot_be(tmp_path: Path) -> None:
    facts: dict[str, list[EffectRow]] = {}
    for file in sorted(LOGS.glob("field/*.log")):
        facts.update(facts_of(file.name, [read_lines(file.name, lines_of(file))]))
    assert len(facts) > 20
    assert_no_row_that_cannot_be(tmp_path, facts)
