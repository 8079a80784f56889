"""`rollcall explain`: its sentences are short, no two are the same, and what groups have in common is said once."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from rollcall.cli.explain import Asked, explain
from rollcall.history.words import LONGEST_SENTENCE
from rollcall.inputs.explained_files import answer_of
from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.wording import cause_sentence, holder_sentence, left_open, own_part
from rollcall.programs.terminal import Terminal
from tests.printed.recorded import CASES, FIELD, INCIDENTS

CLIENTS = FIELD.parent / "clients"
INPUTS = {
    **{case: [FIELD / f"{case}.log"] for case in CASES},
    "clients": sorted(CLIENTS.glob("*.gz")),
    **{path.name: sorted(path.glob("**/*.log.gz")) for path in sorted(INCIDENTS.iterdir()) if path.is_dir()},
}
BROKER = "2026-03-01 03:12:{:06.3f} INFO [GroupCoordinator 0]: {} (kafka.coordinator.group.GroupCoordinator)"
UUID = "6c1d0b29-57f7-4e52-9ffb-38d5ad1120{:02}"
JAVA = "2026-03-01 03:12:{:06.3f} INFO [Consumer clientId=app-{n}, groupId=lane-{n}] {} (o.a.k.c.c.i.X)"
STOCK = ("typically implies", "Commit cannot be completed", "You can address", "max.poll.records", "spending too much")


def shown(*paths: Path) -> str:
    written = io.StringIO()
    explain([*map(str, paths)], Asked(), "text", Terminal(file=written, highlight=False))
    return written.getvalue()


def sentences_of(group: LoggedGroup) -> list[str]:
    of_rebalances = [
        sentence
        for one in group.rebalances
        for sentence in (cause_sentence(one), own_part(one), holder_sentence(one.held_by) if one.held_by else "")
    ]
    return [*of_rebalances, *(one.sentence for one in group.findings)]


@pytest.mark.parametrize("name", INPUTS)
def test_no_line_is_long_and_no_part_of_an_answer_says_a_thing_twice(name: str) -> None:
    """A part is a file, a rebalance, a finding, or what lines cannot tell."""
    lines = shown(*(path for path in INPUTS[name] if "request" not in path.name)).splitlines()
    assert [line for line in lines if len(line.strip()) > LONGEST_SENTENCE] == []
    heads, part, place = set[str](), set[str](), ""
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if depth == 0:
            heads, place = set(), line
        if depth <= 2 and line:
            key = line.strip()
            assert key not in heads, place
            heads.add(key)
            part = set()
        elif line:
            assert line not in part, place
            part.add(line)


@pytest.mark.parametrize("name", INPUTS)
def test_sentences_are_short_none_is_said_twice_and_none_is_kafka_s(name: str) -> None:
    groups = answer_of([str(path) for path in INPUTS[name] if "request" not in path.name], None).groups
    sentences = [*left_open(groups), *(sentence for group in groups for sentence in sentences_of(group))]
    assert [sentence for sentence in sentences if len(sentence) > LONGEST_SENTENCE] == []
    assert [sentence for sentence in sentences if any(phrase in sentence for phrase in STOCK)] == []
    for group in groups:
        said = [one.sentence for one in group.findings]
        assert len(said) == len(set(said))


@pytest.mark.parametrize(
    "text",
    [
        "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the "
        "configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time "
        "processing messages. You can address this either by increasing max.poll.interval.ms or by reducing the "
        "maximum size of batches returned in poll() with max.poll.records.",
        "Asynchronous auto-commit of offsets {t-0=OffsetAndMetadata{offset=4}} failed: Commit cannot be completed since"
        " the group has already rebalanced and assigned the partitions to another member. This means that the "
        "time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, which typically "
        "implies that the poll loop is spending too much time message processing. You can address this either by "
        "increasing max.poll.interval.ms or by reducing the maximum size of batches returned in poll() with "
        "max.poll.records.",
    ],
)
def test_a_stock_phrase_is_said_by_its_meaning(text: str, tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text(JAVA.format(1.0, text, n=1) + "\n")
    answer = shown(log)
    assert "lane-1: " in answer
    assert not any(phrase in answer for phrase in STOCK)


def test_an_id_is_cut_in_text_and_whole_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, member_id = tmp_path / "server.log", f"{'a' * 200}-{UUID.format(1)}"
    log.write_text(BROKER.format(1.0, f"Member {member_id} in group g has failed, removing it from the group") + "\n")
    assert member_id not in shown(log)
    explain([str(log)], Asked(), "json", Terminal())
    (group,) = json.loads(capsys.readouterr().out)["groups"]
    assert member_id in group["findings"][0]["sentence"]
    assert group["findings"][0]["at"] == "2026-03-01T03:12:01.000"


def expiries() -> list[str]:
    text = "Member app-{0}-{1} in group lane-{0} has failed, removing it from the group"
    return [BROKER.format(1 + place / 1000, text.format(place, UUID.format(place))) for place in range(30)]


def lost_coordinators() -> list[str]:
    text = (
        "Group coordinator b:9092 (id: 2147483644 rack: null) is unavailable or invalid due to cause: coordinator "
        "unavailable. isDisconnected: true. Rediscovery will be attempted."
    )
    return [JAVA.format(1 + place / 1000, text, n=place) for place in range(30)]


@pytest.mark.parametrize("lines", [expiries(), lost_coordinators()], ids=["members removed", "coordinator lost"])
def test_what_befell_many_groups_at_once_is_said_once_at_the_top(lines: list[str], tmp_path: Path) -> None:
    log = tmp_path / "all.log"
    log.write_text("\n".join(lines) + "\n")
    printed = shown(log).splitlines()
    assert len(printed) < 60
    place = printed.index("SEVERAL GROUPS AT ONCE")
    assert place == 2
    assert "lane-0" in printed[3]
    assert sum("broker" in line or "coordinator" in line for line in printed[4:]) <= 4


def test_groups_far_apart_in_time_have_their_own_findings(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text(
        "".join(f"{line.replace('03:12:', f'03:{place}:')}\n" for place, line in enumerate(lost_coordinators(), 10))
    )
    answer = shown(log)
    assert "SEVERAL GROUPS AT ONCE" not in answer
    assert answer.count("is without its coordinator") == 30
