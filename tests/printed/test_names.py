"""What Go's loggers print around a name is not a part of it."""

from __future__ import annotations

import pytest

from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.reading import read_lines

FOUND = "client/coordinator coordinator for consumergroup "


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (
            f"[sarama] 2026/03/01 03:12:00 {FOUND}[orders %!s(int32=43) kaas:9092] is #%!d(MISSING) (%!s(MISSING))",
            FactKind.COORDINATOR_FOUND,
        ),
        (f"{FOUND}[orders %!s(int32=43)] is #%!d(MISSING)", FactKind.COORDINATOR_FOUND),
        (
            "2026/03/01 03:12:00 joined group [orders m-1 %!s(int32=43)] as member %!s(MISSING) in generation "
            "%!d(MISSING)",
            FactKind.JOINED,
        ),
    ],
)
def test_values_that_go_misprints_are_put_where_they_belong(line: str, kind: FactKind) -> None:
    (fact,) = read_lines("app.log", [line]).facts
    assert (fact.kind, fact.group_id) == (kind, "orders")
    assert "43" in (fact.broker_id, str(fact.generation_id))


@pytest.mark.parametrize(
    "said",
    [
        "[orders %!s(int32=43) kaas:9092] is #%!d(MISSING)",
        "%!s(MISSING) is #%!d(MISSING)",
        "%!s(int32=43) is #43 (kaas:9092)",
        "[a] is #%!d(MISSING) (]%!s(MISSING)",
    ],
)
def test_a_misprint_that_cannot_be_undone_names_nobody(said: str) -> None:
    assert read_lines("app.log", [f"{FOUND}{said}"]).facts == []
