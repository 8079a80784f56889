"""Random lives of both protocols, whose coordinator goes down or moves, by their log alone: what it has as certain is
what the broker did, and its rebalances end as they did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from rollcall.schemas.effects import Effect, RebalanceEnded, RebalanceStarted
from tests.nightly import nightly_but
from tests.request_log.truth import certain_and_wrong
from tests.views.random_lives import logged, of_both_protocols, of_the_group

NO_LINE_SHOWS = frozenset({43, 88, 125, 151, 238, 264, 284, 347, 442})
"""Lives whose coordinator was away for 5 ms, which no line shows, or kept members that no generation has, which a real
one forgets."""
MENDED = (33, 121, 227, 314, 464, 467, 548, 577)
"""In each, a cause was reported as certain that was another's, or a reached epoch as superseded."""
LIVES = (*range(30), *MENDED)
MANY = tuple(seed for seed in range(600) if seed not in NO_LINE_SHOWS)


@pytest.mark.parametrize("seed", nightly_but(LIVES, MANY))
def test_no_cause_is_reported_as_certain_that_was_not_and_rebalances_end_as_they_did(seed: int, tmp_path: Path) -> None:
    broker, _ = of_both_protocols(seed)
    ours, theirs = logged(broker.write(tmp_path / "requests.log"))[0], of_the_group(broker)
    begun = [one for one in theirs if isinstance(one, RebalanceStarted)]
    true = [(one.from_generation_id, str(one.cause.kind), one.cause.member_id) for one in begun]
    assert certain_and_wrong((one for one in ours if isinstance(one, RebalanceStarted)), true) == []
    assert _ends(ours) <= _ends(theirs)


def _ends(effects: Iterable[Effect]) -> Counter[tuple[int, int, str]]:
    """How often a rebalance from one generation or epoch to another ended so, as far as it is known."""
    return Counter(
        (one.from_generation_id, one.to_generation_id, str(one.outcome))
        for one in effects
        if isinstance(one, RebalanceEnded) and one.outcome != "unknown"
    )
