"""`rollcall shadow`: follows a broker's log, a cluster's __consumer_offsets, or both, and keeps the history.

The log is a request log, or what the broker prints by itself, its server.log.

    rollcall shadow LOG [--set key=value]... [--zone Asia/Kolkata] [--home FOLDER]
    rollcall shadow kafka://host:port [--conf FILE] [--no-offsets] [--home FOLDER]
    rollcall shadow LOG kafka://host:port [options of either]

After a stop or a kill, the next start goes on at the same place. Knows what follows each input. Must not know how an
input is read, nor how a query works.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from rollcall.inputs.printed.growing_log import first_ms_of
from rollcall.inputs.replay.printed import LogKind, kind_of_log
from rollcall.inputs.request_log.broker_settings import SettingsSeen
from rollcall.inputs.request_log.configs_given import sessions_given, split_given
from rollcall.inputs.request_log.lines.clock import zone_of
from rollcall.inputs.request_log.lines.tail import LogTail
from rollcall.inputs.request_log.survey import settings_shown
from rollcall.jobs.config import load_config
from rollcall.jobs.job_monitor import ShadowMetrics, serve_metrics, tell_address
from rollcall.jobs.log_config import WRITER, shadow_config
from rollcall.jobs.shadow.both import BothFollowing
from rollcall.jobs.shadow.feed import ShadowState, Tail, find_kept, new_kept
from rollcall.jobs.shadow.lag_lines import LagLines
from rollcall.jobs.shadow.log_following import SHADOW, LogFollowing
from rollcall.jobs.shadow.printed_following import PRINTED_SHADOW, PrintedFollowing, PrintedKept, find_printed
from rollcall.jobs.shadow.program import Followed, ShadowProgram
from rollcall.jobs.shadow.topic import TOPIC_SHADOW, TopicFollowing, kafka_settings, topic_config
from rollcall.programs.errors import UserError
from rollcall.programs.log_lines import log_to_standard_error
from rollcall.tables.home import Home, HomeError
from rollcall.tables.job_status import StatusWriter

BOTH_SHADOW = "shadow of both"
PRINTED_BOTH_SHADOW = "shadow of a broker's log and a topic"


@dataclass(frozen=True)
class FollowedInputs:
    """The inputs to follow: a request log, a cluster's topic, or both."""

    log: str = ""
    """The log; empty: none."""
    zone: str = "UTC"
    """The zone of its timestamps."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Settings of its broker and of single groups that the user knows."""
    cluster: str = ""
    """The cluster, as kafka://host:port; empty: none."""
    conf: Path | None = None
    """The file of its settings."""
    has_commits: bool = True
    """Whether its committed offsets are kept."""
    is_printed: bool = False
    """Whether the log is a broker's server.log."""

    @property
    def kind(self) -> str:
        """The kind of home that it needs."""
        if not self.log:
            return TOPIC_SHADOW
        alone, both = (PRINTED_SHADOW, PRINTED_BOTH_SHADOW) if self.is_printed else (SHADOW, BOTH_SHADOW)
        return both if self.cluster else alone


def follow(home: Home, asked: FollowedInputs, console: Console) -> int:
    """Follows it on a home until a signal comes. Returns 0, or 1 if a query failed. Raises UserError."""
    log_to_standard_error(logging.WARNING)
    asked = _printed_or_not(home, asked)
    config, sessions = topic_config(asked.cluster, asked.conf) if asked.cluster else None, sessions_given(asked.given)
    served_by = config or load_config(asked.conf)
    with home.locked("a shadow"), ExitStack() as ends:
        if asked.kind != SHADOW:
            home.check_kind(asked.kind, WRITER)
        log_home, topic_home = (home.of_log, home.of_topic) if asked.log and asked.cluster else (home, home)
        for each in (log_home, topic_home):
            each.path.mkdir(exist_ok=True)
        served = serve_metrics(home, served_by, ShadowMetrics())
        ends.callback(served.close)
        tell_address(served)
        has_requests = bool(asked.log) and not asked.is_printed
        opened = _open(log_home, home, asked, console) if has_requests else None
        if opened is not None:
            ends.callback(opened[1].close)
        settings = kafka_settings() if asked.cluster else None if asked.is_printed else {}
        program = ShadowProgram(home, console, settings)
        ends.callback(program.close)

        def printed(status: StatusWriter) -> PrintedFollowing:
            kept = _printed_kept(log_home, asked)
            tail = LogTail(Path(kept.log), zone_of(kept.zone), kept.position, first_ms_of)
            ends.callback(tail.close)
            log_home.check_kind(PRINTED_SHADOW, WRITER)
            return PrintedFollowing(log_home, kept, tail, shadow_config({}), status)

        def log(status: StatusWriter) -> LogFollowing:
            assert opened is not None
            return LogFollowing(log_home, *opened, program.spark, program.teller, status)

        def topic(status: StatusWriter) -> TopicFollowing:
            assert config is not None
            with console.status("asking the cluster"):
                made = TopicFollowing(
                    topic_home,
                    config,
                    program.spark,
                    status,
                    has_commits=asked.has_commits,
                    may_rest=asked.kind == TOPIC_SHADOW,
                    sessions=sessions,
                )
            ends.callback(made.cluster.close)
            return made

        def both(status: StatusWriter) -> BothFollowing:
            assert config is not None
            nowhere = StatusWriter(None)
            of_topic = topic(nowhere)
            if opened is not None:
                opened[0].learn_version(of_topic.kafka_version)
            of_log = printed(nowhere) if asked.is_printed else log(nowhere)
            return BothFollowing(home, config, of_topic, of_log, status)

        makers: dict[str, Callable[[StatusWriter], Followed]] = {
            SHADOW: log,
            TOPIC_SHADOW: topic,
            BOTH_SHADOW: both,
            PRINTED_SHADOW: printed,
            PRINTED_BOTH_SHADOW: both,
        }
        return program.follow(makers[asked.kind](program.status))


def _printed_or_not(home: Home, asked: FollowedInputs) -> FollowedInputs:
    """The same with whether the log is a broker's server.log; a home that follows one goes on so. Raises UserError."""
    if not asked.log:
        return asked
    kind = home.read_note().get("kind")
    if kind is not None and kind not in (PRINTED_SHADOW, PRINTED_BOTH_SHADOW):
        return asked
    if kind is None and kind_of_log(Path(asked.log)) is not LogKind.PRINTED:
        return asked
    of_the_broker, of_groups = split_given(asked.given)
    if of_the_broker or (of_groups and not asked.cluster):
        what = "SET= of a broker" if asked.cluster else "SET="
        raise UserError(f"LOG={asked.log}: is what a broker prints by itself; {what} is said of a request log.")
    return replace(asked, is_printed=True)


def _printed_kept(home: Home, asked: FollowedInputs) -> PrintedKept:
    """The state that the home holds of a broker's server.log, or a new one. Raises HomeError, ZoneError."""
    log = str(Path(asked.log).absolute())
    kept = find_printed(home) or PrintedKept(log, asked.zone)
    _check_same(home, kept, log, asked.zone)
    return kept


def _check_same(home: Home, kept: ShadowState | PrintedKept, log: str, zone: str) -> None:
    """Raises HomeError: the home follows another log, or one in another zone."""
    for what, was, wanted in (("LOG", kept.log, log), ("ZONE", kept.zone, zone)):
        if was != wanted:
            raise HomeError(f"{home.shown} follows {what}={was}, not {wanted}: name another home.")


def _open(home: Home, home_of_ends: Home, asked: FollowedInputs, console: Console) -> tuple[ShadowState, Tail]:
    """Opens the log at the place up to which it was read, on a checked home; log ends go to home_of_ends."""
    kept = kept_of(home, str(Path(asked.log).absolute()), asked.zone, asked.given, console)
    tail = tail_of(kept)
    home.check_kind(SHADOW, WRITER)
    return kept, LagLines(tail, home_of_ends.path)


def tail_of(kept: ShadowState) -> Tail:
    """The log, from the place up to which it was read. Raises LogFileError, ZoneError."""
    return LogTail(Path(kept.log), zone_of(kept.zone), kept.position)


def kept_of(home: Home, log: str, zone: str, given: Mapping[str, str], console: Console) -> ShadowState:
    """The state that the home holds of this log, or a new one.

    given: broker settings that the user knows. A new shadow takes the others from the log; an existing one keeps its
    own. Raises HomeError, LogFileError, ZoneError, ConfigError.
    """
    shadow_config(given)
    kept = find_kept(home)
    if kept is None:
        with console.status("looking over the log"):
            seen = settings_shown(Path(log), zone_of(zone)) if Path(log).is_file() else SettingsSeen()
        return new_kept(log, zone, given, seen)
    _check_same(home, kept, log, zone)
    for key, value in given.items():
        if kept.given.get(key) != value:
            raise HomeError(
                f"{home.shown} was begun with {key}={kept.given.get(key, 'unknown')}, not {value}: name another home."
            )
    return kept
