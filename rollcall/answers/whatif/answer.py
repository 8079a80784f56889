"""A whole answer: the outcome recorded, of the baseline, and of each setting; and its rows.

Knows outcomes by group and by setting; must not know how they are shown or were played.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rollcall.answers.clients.assignors import ASSIGNORS
from rollcall.answers.simulation.plan import GroupProtocol
from rollcall.answers.whatif.changes import BASELINE, Setting, SettingError, Trial
from rollcall.answers.whatif.fidelity import Fidelity, fidelity_of
from rollcall.answers.whatif.outcome import Outcome
from rollcall.answers.whatif.play import DEFAULT_ASSIGNORS, DEFAULTS, plan_of
from rollcall.answers.whatif.recording import Recording
from rollcall.history.words import partitions

Outcomes = Mapping[str, Outcome]
"""By group."""
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    """What was recorded, and what was played."""

    recording: Recording
    trial: Trial
    baseline: Outcomes
    """Played with nothing changed."""
    tried: tuple[Outcomes, ...]
    """Played with each setting of the trial, in its order."""

    @property
    def fidelities(self) -> dict[str, Fidelity]:
        """By group, how well its baseline equals its recording."""
        recorded = self.recording.outcomes
        return {group_id: fidelity_of(recorded[group_id], played) for group_id, played in self.baseline.items()}

    def figures(self, outcome: Outcome) -> dict[str, int | float | None]:
        """The figures shown of a run, times in seconds."""
        rates = self.recording.rates
        mean_ms = outcome.mean_detection_ms
        return {
            "rebalances": outcome.rebalances,
            "generations": outcome.generations,
            "rebalancing_s": outcome.rebalancing_ms / 1000,
            "stopped_member_s": outcome.stopped_member_ms / 1000,
            "unserved_partition_s": outcome.unserved_partition_ms / 1000,
            "records_delayed": None if rates is None else outcome.records_delayed(rates),
            "partitions_moved": outcome.partitions_moved,
            "expiries": outcome.expiries,
            "wrongly_expired": outcome.wrongly_expired,
            "deaths": outcome.deaths,
            "detected": outcome.detected,
            "mean_detection_s": None if mean_ms is None else round(mean_ms / 1000, 3),
            "longest_detection_s": outcome.longest_detection_ms / 1000 if outcome.detected else None,
            "refused": outcome.refused,
        }

    def runs(self) -> Iterator[tuple[str, Setting, Outcomes]]:
        """(recorded, baseline or whatif; the setting; outcomes by group), in the order to show them."""
        yield "recorded", BASELINE, self.recording.outcomes
        yield "baseline", BASELINE, self.baseline
        for setting, outcomes in zip(self.trial.settings, self.tried, strict=True):
            yield "whatif", setting, outcomes

    def rows(self) -> Iterator[Row]:
        """One for each run and group, and one for each run without a group: all of them together."""
        fidelities = self.fidelities
        whole = share_of(fidelities.values())
        for run, setting, outcomes in self.runs():
            share = None if run == "recorded" else whole
            yield self._row(run, setting, None, total(outcomes.values()), share)
            for group_id, outcome in sorted(outcomes.items()):
                share = None if run == "recorded" else fidelities[group_id].share
                yield self._row(run, setting, group_id, outcome, share)

    def _row(self, run: str, setting: Setting, group_id: str | None, outcome: Outcome, share: float | None) -> Row:
        value = setting.value
        return {
            "run": run,
            "setting": setting.text,
            "swept": self.trial.swept or None,
            "value": (int(value) if value.isdecimal() else value or None),
            "group_id": group_id,
            **self.figures(outcome),
            "causes": dict(sorted(outcome.causes.items())),
            "fidelity": None if share is None else round(share, 4),
        }


def total(outcomes: Iterable[Outcome]) -> Outcome:
    """All groups together."""
    sum_of_all = Outcome()
    for each in outcomes:
        sum_of_all.add(each)
    return sum_of_all


def share_of(fidelities: Iterable[Fidelity]) -> float:
    """The share of rebalances, recorded or played, that are the same in both; 1 where there are none."""
    found = list(fidelities)
    most = sum(max(each.recorded, each.played) for each in found)
    return sum(each.matched for each in found) / most if most else 1.0


def refuse_unfit(recording: Recording, trial: Trial) -> None:
    """Raises SettingError: a setting that some group's schedules cannot be played with."""
    for setting in trial.settings:
        for group_id in setting.of_groups.keys() - recording.schedules.keys():
            raise SettingError(f"{setting.text}: the log has no group {group_id} that can be played")
        for of_group in recording.schedules.values():
            plan_of(of_group, setting)


def assumptions(recording: Recording, trial: Trial) -> list[str]:
    """What the answer takes for granted, in sentences: of every simulation, and of this trial."""
    said = [
        "Processes start, stall, close and die when they did; max.poll.interval.ms is taken for the rebalance timeout.",
        "A silent process died half a heartbeat after its last request; brokers neither fail nor move groups.",
    ]
    if recording.rates is not None:
        said.append(
            "Records delayed are those written to a partition, at its recorded rate, while its group had members and "
            "it had no living owner; those before the first member or after the last one are not counted."
        )
        unserved = {each for outcome in recording.outcomes.values() for each, ms in outcome.unserved.items() if ms}
        if without := unserved - recording.rates.keys():
            said.append(f"No rate is known of {partitions(without)}, so records delayed there are not counted.")
    said += _protocol_assumptions(recording, trial)
    if any(setting.is_static is False for setting in trial.settings):
        said.append("static=false: a static process that fell silent and had a successor closed, and sends LeaveGroup.")
    if any(setting.is_static for setting in trial.settings):
        said.append(
            "static=true: a process that starts after another of its client id has ended is its restart and has its "
            "instance id; a clean close sends no LeaveGroup then."
        )
    schedules = [schedule for of_group in recording.schedules.values() for schedule in of_group.processes]
    strange = sorted({name for schedule in schedules for name in schedule.terms.assignors if name not in ASSIGNORS})
    if strange:
        said.append(f"Assignors of other libraries ({', '.join(strange)}) share out as roundrobin does.")
    if any("group.max.size" in setting.broker for setting in trial.settings):
        said.append("Who is turned away from a full group does not come back, unless it was seen to.")
    return said


def _protocol_assumptions(recording: Recording, trial: Trial) -> list[str]:
    """The assumptions if some group is played under the other protocol."""
    schedules = [schedule for of_group in recording.schedules.values() for schedule in of_group.processes]
    was = {schedule.terms.protocol for schedule in schedules}
    to = {setting.protocol for setting in trial.settings}
    said = []
    if GroupProtocol.CONSUMER in was | to:
        said.append(
            "A member of the newer protocol is never stopped as a whole: partition-seconds unserved tell the cost. Its "
            "session and heartbeats are its group's, as they were in the end, else the broker's: "
            "group.consumer.session.timeout.ms (45000 unless WAS or SET says another) and its heartbeat interval."
        )
    if GroupProtocol.CONSUMER in to and GroupProtocol.CLASSIC in was:
        said.append(
            "group.protocol=consumer: every group is under it from its first member on; going over, with members of "
            "both kinds in one group, is not played."
        )
    if GroupProtocol.CLASSIC in to and GroupProtocol.CONSUMER in was:
        said.append(
            "group.protocol=classic: members that never said a session timeout, heartbeats and assignors have "
            f"{DEFAULTS.session_timeout_ms} ms, {DEFAULTS.heartbeat_interval_ms} ms and "
            f"{', '.join(DEFAULT_ASSIGNORS)}, unless SET says others."
        )
    return said
