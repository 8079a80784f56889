"""The report of a what-if: how far its baseline can be trusted, then recorded | baseline | what-if, or a curve.

Knows an answer's figures and how to show them; must not know how they are computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from rollcall.answers.whatif.answer import WhatIfAnswer, assumptions, share_of, total
from rollcall.history.words import second
from rollcall.programs.terminal import add_row, say, text_of
from rollcall.shown.tables import show_table

SHOWN_GROUPS = 12


_LABELS = {
    "rebalances": "rebalances",
    "generations": "generations completed",
    "rebalancing_s": "group-seconds rebalancing",
    "stopped_member_s": "member-seconds stopped",
    "unserved_partition_s": "partition-seconds unserved",
    "records_delayed": "  records delayed by that",
    "partitions_moved": "partitions moved",
    "expiries": "sessions expired",
    "wrongly_expired": "  of members that were alive",
    "deaths": "ended silently",
    "detected": "  detected within the log",
    "mean_detection_s": "  seconds to detect, mean",
    "longest_detection_s": "  seconds to detect, longest",
    "refused": "joins refused, group full",
}
_CURVE = {
    "rebalances": "rebal-\nances",
    "stopped_member_s": "member-s\nstopped",
    "unserved_partition_s": "part.-s\nunserved",
    "records_delayed": "records\ndelayed",
    "partitions_moved": "moved",
    "expiries": "expired",
    "wrongly_expired": "of them\nalive",
    "detected": "deaths\nfound",
    "mean_detection_s": "mean s\nto find",
    "refused": "refused",
}


class Report(NamedTuple):
    """The result of a what-if."""

    found: WhatIfAnswer
    inferred: Mapping[str, str]
    """Broker settings inferred from the log, by Kafka's keys."""
    lines: int
    """How many lines the log has."""
    seconds: float
    """How long the simulation took."""
    out: str
    """The file with the rows."""


def tell(console: Console, report: Report) -> None:
    """Prints the whole report."""
    found = report.found
    _say_recording(console, report)
    _tell_fidelity(console, found)
    if found.trial.swept:
        _tell_curve(console, found)
    else:
        _tell_compared(console, found)
        _tell_groups(console, found)
    for sentence in assumptions(found.recording, found.trial):
        say(console, sentence)
    say(console, f"The figures of every group are in {report.out}, one JSON object a line.")


def _say_recording(console: Console, report: Report) -> None:
    recording = report.found.recording
    processes = sum(len(of_group.processes) for of_group in recording.schedules.values())
    plays = len(recording.schedules) * (len(report.found.trial.settings) + 1)
    say(
        console,
        f"{report.lines} lines from {second(recording.from_ms)} to {second(recording.until_ms)} (UTC): "
        f"{len(recording.schedules)} groups, {processes} processes; {plays} plays in {report.seconds:.1f} s",
    )
    for key, value in report.inferred.items():
        say(console, f"  the log shows that the broker had {key}={value}; --was overrides it")
    for group_id, reason in recording.left_out.items():
        say(console, f"  not played: {group_id}, {reason}")
    if recording.moved:
        say(console, f"  without a coordinator for a while, which is not played: {', '.join(recording.moved)}")


def _tell_fidelity(console: Console, found: WhatIfAnswer) -> None:
    """Prints how well the baseline equals the recording, which limits how far a what-if can be trusted."""
    fidelities = found.fidelities
    same = sum(each.has_same_rebalances for each in fidelities.values())
    say(
        console,
        f"fidelity of the baseline: {share_of(fidelities.values()):.1%} of rebalances are reproduced with their "
        f"causes; {same} of {len(fidelities)} groups have exactly the recorded ones",
    )
    parted = {
        group_id: each
        for group_id, each in fidelities.items()
        if not (each.has_same_rebalances and each.is_stopped_alike)
    }
    if not parted:
        return
    table = Table(title="groups whose baseline parts from the recording", title_justify="left")
    for name in ("group", "rebalances", "the same", "by the same", "generations", "member-s stopped"):
        table.add_column(name, justify="left" if name == "group" else "right")
    for group_id, each in sorted(parted.items(), key=lambda item: item[1].share)[:SHOWN_GROUPS]:
        add_row(
            table,
            group_id,
            f"{each.recorded} -> {each.played}",
            str(each.matched),
            str(each.same_culprit),
            _pair(each.generations),
            _pair([ms / 1000 for ms in each.stopped_member_ms]),
        )
    show_table(console, table)
    if len(parted) > SHOWN_GROUPS:
        say(console, f"  and {len(parted) - SHOWN_GROUPS} more")


def _tell_compared(console: Console, found: WhatIfAnswer) -> None:
    runs = [(run, found.figures(total(outcomes.values()))) for run, _, outcomes in found.runs()]
    table = Table(title=text_of(found.trial.settings[0].text, "table.title"), title_justify="left")
    table.add_column("all groups")
    for run, _ in runs:
        table.add_column("what-if" if run == "whatif" else run, justify="right")
    for name, label in _LABELS.items():
        if any(of_run[name] for _, of_run in runs):
            add_row(table, label, *(_number(of_run[name]) for _, of_run in runs))
    causes = [total(outcomes.values()).causes for _, _, outcomes in found.runs()]
    for cause in sorted(set().union(*causes)):
        add_row(table, f"  {cause}", *(str(each.get(cause, 0)) for each in causes))
    show_table(console, table)


def _tell_curve(console: Console, found: WhatIfAnswer) -> None:
    runs = [
        (setting.value if run == "whatif" else run, found.figures(total(outcomes.values())))
        for run, setting, outcomes in found.runs()
    ]
    table = Table(
        title=text_of(f"all groups, {found.trial.swept} swept", "table.title"),
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=0,
    )
    shown = [name for name in _CURVE if any(of_run[name] for _, of_run in runs)]
    table.add_column("run", no_wrap=True)
    for name in shown:
        table.add_column(_CURVE[name], justify="right", no_wrap=True)
    for name_of_run, of_run in runs:
        add_row(table, name_of_run, *(_number(of_run[name]) for name in shown))
    show_table(console, table)


def _tell_groups(console: Console, found: WhatIfAnswer) -> None:
    """Prints the groups that the setting changes most, in member-seconds stopped."""
    tried, fidelities = found.tried[0], found.fidelities

    def change_ms(group_id: str) -> int:
        return tried[group_id].stopped_member_ms - found.baseline[group_id].stopped_member_ms

    changed = [
        group_id for group_id in sorted(tried, key=lambda each: -abs(change_ms(each))) if change_ms(group_id) != 0
    ]
    if len(tried) < 2 or not changed:
        return
    table = Table(title="where it changes most: recorded | baseline | what-if", title_justify="left")
    for name in ("group", "rebalances", "member-s stopped", "moved", "expired", "fidelity"):
        table.add_column(name, justify="left" if name == "group" else "right")
    for group_id in changed[:SHOWN_GROUPS]:
        runs = [found.figures(outcomes[group_id]) for _, _, outcomes in found.runs()]
        columns = ("rebalances", "stopped_member_s", "partitions_moved", "expiries")
        cells = [" | ".join(f"{run[name]:,.0f}" for run in runs) for name in columns]
        add_row(table, group_id, *cells, f"{fidelities[group_id].share:.0%}")
    show_table(console, table)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _pair(values: Sequence[float]) -> str:
    return " -> ".join(_number(value) for value in values)
