"""The what-if curve: what each value of a swept setting costs and saves.

Knows the rows that `make whatif` writes. Must not know how they were made, nor a drawing library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rollcall.answers.pictures.period import NothingToShow
from rollcall.answers.pictures.scene import Curve, Curves, Lanes, colour_of

SECONDS = {
    "rebalancing_s": "rebalancing",
    "unserved_partition_s": "partitions without an owner",
    "longest_detection_s": "longest until a death was noticed",
}
COUNTS = {
    "rebalances": "rebalances",
    "partitions_moved": "partitions moved",
    "wrongly_expired": "expired though alive",
}


def sweep(rows: Iterable[Mapping[str, Any]]) -> dict[str, Lanes | Curves]:
    """A picture of times and one of counts, all groups together. Raises NothingToShow: no setting was swept."""
    of_all = [row for row in rows if row["group_id"] is None]
    tried = [row for row in of_all if row["run"] == "whatif" and isinstance(row["value"], int | float)]
    if len(tried) < 2:
        raise NothingToShow('no setting with a range was tried by what-if, such as "session.timeout.ms=6000..60000/8".')
    recorded = next((row for row in of_all if row["run"] == "recorded"), {})
    fidelity = next((row["fidelity"] for row in of_all if row["run"] == "baseline"), None)
    return {
        "seconds": _curves(tried, recorded, fidelity, SECONDS, "seconds, all groups together"),
        "counts": _curves(tried, recorded, fidelity, COUNTS, "how many, all groups together"),
    }


def _curves(
    tried: list[Mapping[str, Any]],
    recorded: Mapping[str, Any],
    fidelity: float | None,
    figures: Mapping[str, str],
    y_label: str,
) -> Curves:
    swept = tried[0]["swept"]
    known = "of unknown fidelity" if fidelity is None else f"the baseline equals {fidelity:.0%} of the recording"
    main = next(iter(figures))
    level = recorded.get(main)
    return Curves(
        title=f"What if {swept} were different ({known})",
        x_label=str(swept),
        y_label=y_label,
        curves=[
            Curve(label, sorted((row["value"], row[name]) for row in tried if row[name] is not None), colour_of(place))
            for place, (name, label) in enumerate(figures.items())
        ],
        is_time=False,
        levels={} if level is None else {f"{figures[main]} as recorded": float(level)},
    )
