"""What a recorded broker 4.4.0 printed, with GroupMetadataManager at DEBUG: every line is read, every rebalance true.

The truth is that of the request log's incidents with the same names.
"""

from __future__ import annotations

import gzip
import json

import pytest

from rollcall.inputs.printed.reading import FileRead, merged, read_lines
from rollcall.inputs.printed.story import groups_in
from tests.printed.recorded import KAFKA_4_4
from tests.request_log.recordings import INCIDENTS

NAMES = ["k44-classic", "k44-mixed", "k44-newer"]
OF_NO_GROUP = {
    "Starting up",
    "Startup complete",
    "Ignored unloading metadata for ... in epoch OptionalInt... since ...",
}


def read(name: str, *, is_debug: bool) -> FileRead:
    lines = gzip.decompress((KAFKA_4_4 / f"{name}.log.gz").read_bytes()).decode().splitlines()
    return read_lines(name, [line for line in lines if is_debug or " DEBUG " not in line])


@pytest.mark.parametrize("name", NAMES)
def test_no_line_about_a_group_is_unread(name: str) -> None:
    (unread,) = read(name, is_debug=False).unread
    assert {wording for wording, _ in unread.wordings} <= OF_NO_GROUP
    assert unread.others == 0


@pytest.mark.parametrize("is_debug", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_rebalance_has_its_cause_and_its_culprit(name: str, is_debug: bool) -> None:
    true = json.loads((INCIDENTS / f"{name}.json").read_text())
    groups = {group.group_id: group.rebalances for group in groups_in(merged([read(name, is_debug=is_debug)]))}
    assert groups.keys() == true.keys()
    for group, rows in true.items():
        for one, (from_id, kind, member_id) in zip(groups[group], rows, strict=True):
            assert one.generation_id == from_id + 1
            if kind != "subscription_changed":
                assert (one.cause.kind, one.cause.member_id) == (kind, member_id)
            elif one.cause.member_id:
                assert (one.cause.kind, one.cause.member_id, is_debug) == (kind, member_id, True)
            else:
                # Only a line of DEBUG names who subscribes, and none says who votes for another assignor.
                assert one.cause.kind == kind or kind in {other.kind for other in one.cause.candidates}
                assert one.cause.kind == "unknown" or one.cause.is_inferred


def test_a_classic_member_of_a_consumer_group_that_is_given_an_id_is_no_sign_of_forgery() -> None:
    says = (
        "Dynamic member with unknown member id joins the consumer group. Created a new member id {} and requesting "
        "the member to rejoin with this id.",
        "Member {} joins the consumer group using the classic protocol.",
        "Bumped group epoch to 3 with metadata hash -27.",
    )
    program = "[GroupCoordinator id=1 topic=__consumer_offsets partition=0]"
    head = f"[2026-11-29 02:34:33,11{{}}] INFO {program} [GroupId g] {{}} ({{}})"
    logger = "org.apache.kafka.coordinator.group.GroupMetadataManager"
    lines = [head.format(n, each.format("W1QMlpyhTDSnXxfE8PlNSg"), logger) for n, each in enumerate(says)]
    found = read_lines("server.log", lines)
    (group,) = groups_in(merged([found]))
    assert found.unread == ()
    assert [(one.cause.kind, one.cause.is_inferred) for one in group.rebalances] == [("member_joined", False)]
    assert group.findings == []
