"""Names for member ids: bound by a JoinGroup's answer, standing wherever an id stands."""

from __future__ import annotations

import re
from typing import Any

from tests.trace.lines import ask, b64, by_id, heartbeat, join, sync, tick, traced

NEW_ID = re.compile(r"client-j-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def test_a_new_id_is_the_client_id_and_a_lower_case_uuid_and_the_same_one_every_time() -> None:
    first, again = (traced(join(0, "j"))[0]["member_id"] for _ in range(2))
    assert NEW_ID.fullmatch(first)
    assert first == again


def test_a_name_stands_for_the_id_that_its_join_was_answered_with() -> None:
    answers = by_id(traced(join(0, "j", bind="m"), heartbeat(1, "h", "$m")))
    assert answers["h"]["error_code"] == "NONE"


def test_an_id_given_with_member_id_required_binds_as_well() -> None:
    answers = by_id(traced(join(0, "j", api_version=4, bind="m"), join(1, "k", api_version=4, member_id="$m")))
    assert answers["j"]["error_code"] == "MEMBER_ID_REQUIRED"
    assert answers["k"]["member_id"] == answers["j"]["member_id"]


def test_a_refused_join_binds_nothing_and_leaves_what_was_bound() -> None:
    lines = join(0, "j", bind="m"), join(1, "k", bind="m", session_timeout_ms=1), heartbeat(2, "h", "$m")
    answers = by_id(traced(*lines))
    assert answers["k"]["error_code"] == "INVALID_SESSION_TIMEOUT"
    assert answers["h"]["error_code"] == "NONE"


def test_a_name_bound_again_stands_for_the_id_of_its_last_answer() -> None:
    static: dict[str, Any] = {"api_version": 5, "group_instance_id": "i", "bind": "m"}
    answers = by_id(
        traced(
            join(0, "j", **static),
            sync(1, "s", "$m"),
            join(2, "k", **static),
            heartbeat(3, "new", "$m", group_instance_id="i"),
            heartbeat(4, "old", "client-j", group_instance_id="i"),
        )
    )
    assert answers["j"]["member_id"] != answers["k"]["member_id"]
    assert (answers["new"]["error_code"], answers["old"]["error_code"]) == ("NONE", "FENCED_INSTANCE_ID")


def test_the_last_answer_counts_not_the_last_line() -> None:
    """k is parked and answered when m1 is gone; l, asked later, is given its id before that."""
    answers = by_id(
        traced(
            join(0, "j", bind="m1"),
            join(10, "k", bind="m"),
            join(11, "l", api_version=4, group_id="other", bind="m"),
            tick(10_000),
            heartbeat(10_001, "h", "$m", generation_id=2),
        )
    )
    assert answers["k"]["at_ms"] == 10_000
    assert answers["h"]["error_code"] == "NONE"


def test_names_stand_inside_lists_and_in_assignments() -> None:
    answers = by_id(
        traced(
            join(0, "a", bind="a"),
            join(1, "b", bind="b"),
            join(2, "a2", member_id="$a"),
            sync(3, "sb", "$b", generation_id=2),
            sync(
                4,
                "sa",
                "$a",
                generation_id=2,
                assignments=[
                    {"member_id": "$b", "assignment": b64(b"for b")},
                    {"member_id": "$a", "assignment": b64(b"for a")},
                ],
            ),
            ask(5, "l", "LeaveGroup", 3, group_id="g", members=[{"member_id": "$b"}, {"member_id": "$a"}]),
        )
    )
    assert answers["sa"]["assignment"] == b64(b"for a")
    assert answers["sb"]["assignment"] == b64(b"for b")
    ids = [answers["b"]["member_id"], answers["a2"]["member_id"]]
    assert [(m["member_id"], m["error_code"]) for m in answers["l"]["members"]] == [(i, "NONE") for i in ids]


def test_a_dollar_means_a_name_only_where_a_member_id_stands() -> None:
    group_id = "$group"
    answers = by_id(traced(join(0, "j", group_id=group_id, client_id="$client")))
    assert answers["j"]["member_id"].startswith("$client-")
    assert answers["j"]["error_code"] == "NONE"
