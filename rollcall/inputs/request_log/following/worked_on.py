"""Chooses, within the interval that a line allows, the moment at which the broker handled a request of a consumer
group. Two target assignments of a group are an interval apart, counted from when the broker computed the first. A busy
broker handles a request seconds after it arrived, and a line only has when it was answered. So the time is used after
which most of the next requests are answered as recorded.

Knows the model and what is read ahead; changes neither.
"""

from __future__ import annotations

from itertools import islice
from math import floor

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.inputs.request_log.following.group_model import GroupModel
from rollcall.inputs.request_log.following.trial import Trial
from rollcall.inputs.request_log.following.upcoming import Upcoming
from rollcall.inputs.request_log.recorded import LoggedRequest

LOOKED_AT = 12
"""This many of the next requests are tried after each of several things that fit."""
LONG_MS = 50
"""A broker that took less was not busy."""
_PARTS = 4


def at_the_best_time(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest, trial: Trial) -> Trial:
    """The trial of a request that fits, at the time within its interval that fits the next requests best."""
    if not _computes_target(model.group, trial) or entry.until_ms - trial.at_ms < LONG_MS:
        return trial
    following = list(islice(upcoming.in_order(), LOOKED_AT))
    best, most = trial, count_fitting(model, trial.group, following, trial.at_ms)
    for part in range(1, _PARTS + 1):
        at_ms = trial.at_ms + floor((entry.until_ms - trial.at_ms) * part / _PARTS)
        if model.next_due_ms(at_ms - 1) is not None:
            # The deadline would fire in the past.
            break
        later = model.try_request(entry, at_ms)
        count = count_fitting(model, later.group, following, at_ms) if later.fits else 0
        if count > most:
            best, most = later, count
    return best


def try_later(model: GroupModel, entry: LoggedRequest, at_ms: int) -> Trial | None:
    """A request of a consumer group at the end of its line's time; None if it does not fit then either."""
    if model.group.consumer is None:
        return None
    until_ms = floor(entry.until_ms)
    if until_ms <= at_ms or model.next_due_ms(until_ms - 1) is not None:
        return None
    later = model.try_request(entry, until_ms)
    return later if later.fits else None


def _computes_target(before: Group, trial: Trial) -> bool:
    after = trial.group.consumer
    had = None if before.consumer is None else before.consumer.target_at_ms
    return after is not None and after.target_at_ms != had


def count_fitting(model: GroupModel, group: Group, following: list[LoggedRequest], at_ms: int) -> int:
    """How many of the next requests fit one after the other, from this group and time on."""
    for count, entry in enumerate(following):
        if entry.was_refused:
            continue
        at_ms = max(at_ms, entry.request.received_at_ms)
        trial = model.try_request(entry, at_ms, group)
        if not trial.fits:
            return count
        group = trial.group
    return len(following)
