"""`rollcall shadow`: follows a broker's log, a cluster's __consumer_offsets, or both, and keeps the history.

The log is a request log, or what the broker prints, its server.log.

    rollcall shadow LOG [--set key=value]... [--zone Asia/Kolkata] [--home FOLDER]
    rollcall shadow kafka://host:port [--conf FILE] [--no-offsets] [--home FOLDER]
    rollcall shadow LOG kafka://host:port [options of either]

After a stop or a kill, the next start continues at the same place. Knows what follows each input, and the one loop of
every shadow: it looks at its input until a signal comes or the input fails. Must not know how an input is read, nor how
a query works.
"""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from rollcall.inputs.file_kinds import FileKind, kind_of
from rollcall.inputs.following.following import COMMIT_EVERY_S, Following
from rollcall.inputs.following.printed_source import PrintedKept, PrintedSource, find_printed
from rollcall.inputs.following.request_source import RequestSource, ShadowState, find_kept, new_kept
from rollcall.inputs.following.source import Followed, Tail
from rollcall.inputs.printed.growing_log import first_ms_of
from rollcall.inputs.request_log.broker_settings import SettingsSeen, sessions_given, split_given
from rollcall.inputs.request_log.lines.clock import zone_of
from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.lines.tail import LogTail, Position
from rollcall.inputs.request_log.survey import settings_shown
from rollcall.jobs.config import JobConfig, load_config
from rollcall.jobs.job_monitor import ShadowMetrics, serve_metrics, tell_address
from rollcall.jobs.log_config import WRITER, shadow_config
from rollcall.jobs.shadow.earlier_home import finish_earlier
from rollcall.jobs.stream.upkeep import Beside, Upkeep
from rollcall.programs.errors import UserError
from rollcall.programs.log_lines import log_to_standard_error
from rollcall.programs.stop_signal import StopSignal
from rollcall.programs.terminal import Teller
from rollcall.programs.visible import visible
from rollcall.shown.watch import RebalanceLines
from rollcall.tables.home import Home, HomeError
from rollcall.tables.home_tables import open_requests
from rollcall.tables.job_status import StatusWriter

POLL_S = 0.1


class ShadowProgram:
    """Runs a shadow on a home; one in a process."""

    def __init__(self, home: Home, console: Console) -> None:
        self.teller = Teller(console)
        self.stop, self.status = StopSignal(), StatusWriter(home.path)
        self._home, self._rebalances = home, RebalanceLines(home.path)

    def follow(self, following: Following, besides: Sequence[Beside]) -> int:
        """Follows it, while others work beside it; returns the exit status: 1 if it failed."""
        for beside in besides:
            beside.start()
        self.teller.say(f"rollcall: following {following.source.shown} on {self._home.shown}; Ctrl-C stops it.")
        for line in following.source.not_known:
            self.teller.say(f"rollcall: {line}")
        has_more = False
        while following.failure is None and not self.stop.wait(0 if has_more else POLL_S):
            has_more = following.step()
            self.teller.attempt(self._tell_rebalances)
        following.finish()
        for beside in besides:
            beside.stop()
        return self._report(following)

    def _report(self, following: Following) -> int:
        if following.failure is not None and not self.stop.wait(0):
            self.status.failed(*following.failure)
            print(f"rollcall: the shadow failed: {visible(following.failure.reason)}", file=sys.stderr)
            return 1
        self.status.stopped()
        for line in following.source.closing_lines():
            self.teller.say(line)
        counts = following.source.counts
        self.teller.say(f"rollcall: the shadow has stopped; {counts}. Start it again to continue from there.")
        return 0

    def _tell_rebalances(self) -> None:
        """Prints the rebalances that the home's tables have shown since the last call."""
        for line in self._rebalances.look():
            self.teller.say(line)


# The kinds of homes that shadows make, as `home.json` names them.
SHADOW = "shadow"
"""Of a request log."""
TOPIC_SHADOW = "topic shadow"
BOTH_SHADOW = "shadow of both"
"""Of a request log and a topic."""
PRINTED_SHADOW = "shadow of a broker's log"
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
    """Follows it on a home until a signal comes. Returns 0, or 1 if it failed. Raises UserError."""
    log_to_standard_error(logging.WARNING)
    asked = _printed_or_not(home, asked)
    sessions, config = sessions_given(asked.given), _config_of(asked)
    with home.locked("a shadow"), ExitStack() as ends:
        if asked.kind != SHADOW:
            home.check_kind(asked.kind, WRITER)
        served = serve_metrics(home, config, ShadowMetrics())
        ends.callback(served.close)
        tell_address(served)
        if asked.cluster:
            return _follow_cluster(home, asked, config, sessions, console, ends)
        opened = _open(home, find_printed(home) if asked.is_printed else find_kept(home), asked, console)
        finish_earlier(home, opened.kept)
        program = ShadowProgram(home, console)
        source = _source(home, *opened, program, config)
        ends.callback(source.close)
        return _follow_source(home, source, shadow_config({}), program)


def _follow_cluster(
    home: Home, asked: FollowedInputs, config: JobConfig, sessions: Mapping[str, int], console: Console, ends: ExitStack
) -> int:
    # Imported here: who follows a log alone needs no client of Kafka.
    from rollcall.cli.shadow.topic import FollowedTopic
    from rollcall.inputs.following.both import OF_LINES, OF_REQUESTS, BothKept, BothSource, find_both
    from rollcall.inputs.following.merging_feed import MergingFeed
    from rollcall.inputs.following.topic_source import find_topic
    from rollcall.jobs.shadow.earlier_topic import take_over, take_over_both

    kind = OF_LINES if asked.is_printed else OF_REQUESTS
    kept: BothKept[Any, Any] = BothKept()
    if asked.log:
        kept = take_over_both(home, kind, config) or find_both(home, kind) or kept
    opened = _open(home, kept.log, asked, console) if asked.log else None
    with console.status("asking the cluster"):
        followed = FollowedTopic(home, config, has_commits=asked.has_commits)
    program = ShadowProgram(home, console)
    if opened is None:
        take_over(home)
        kept.topic = find_topic(home)
    topic = followed.source(kept.topic, sessions)
    ends.callback(topic.close)
    if opened is None:
        return _follow_source(home, topic, config, program, followed.samplers())
    if isinstance(opened.kept, ShadowState):
        opened.kept.learn_version(followed.kafka_version)
    merging = MergingFeed(kept.merging, kind.rule, followed.cluster.names, config.log_hold_ms)
    log = _source(home, *opened, program, config, is_beside=True)
    ends.callback(log.close)
    both = BothSource(kind, log, topic, merging, config.log_hold_ms)
    return _follow_source(home, both, config, program, followed.samplers())


def _config_of(asked: FollowedInputs) -> JobConfig:
    if not asked.cluster:
        return load_config(None)
    # Imported here, as above: who follows a log alone needs no client of Kafka.
    from rollcall.cli.shadow.topic import topic_config

    return topic_config(asked.cluster, asked.conf)


class _Opened(NamedTuple):
    """A log, from the place up to which it was read."""

    kept: ShadowState | PrintedKept
    tail: Tail[LogLine, Position]


def _open(home: Home, found: ShadowState | PrintedKept | None, asked: FollowedInputs, console: Console) -> _Opened:
    """Opens the log. found: what the home holds of it; None: nothing yet. Raises UserError."""
    log = str(Path(asked.log).absolute())
    if asked.is_printed:
        printed = found if isinstance(found, PrintedKept) else PrintedKept(log, asked.zone)
        _check_same(home, printed, log, asked.zone)
        return _Opened(printed, LogTail(Path(printed.log), zone_of(printed.zone), printed.position, first_ms_of))
    assert not isinstance(found, PrintedKept)
    kept = kept_of(home, found, log, asked.zone, asked.given, console)
    lines = tail_of(kept)
    home.check_kind(asked.kind, WRITER)
    return _Opened(kept, lines)


def _source(
    home: Home,
    kept: ShadowState | PrintedKept,
    tail: Tail[LogLine, Position],
    program: ShadowProgram,
    config: JobConfig,
    *,
    is_beside: bool = False,
) -> PrintedSource | RequestSource:
    if isinstance(kept, PrintedKept):
        return PrintedSource(kept, tail, is_beside=is_beside)
    return RequestSource(home, open_requests(home, config.versions_retention_minutes), kept, tail, program.teller.say)


def _follow_source(
    home: Home, source: Followed, config: JobConfig, program: ShadowProgram, besides: Sequence[Beside] = ()
) -> int:
    following = Following(
        home,
        source,
        program.status,
        commit_every_s=config.trigger_interval_ms / 1000 or COMMIT_EVERY_S,
        versions_retention_minutes=config.versions_retention_minutes,
    )
    # An earlier version's, which nobody reads from now on.
    shutil.rmtree(home.checkpoint, ignore_errors=True)
    return program.follow(following, [*besides, Upkeep(home, config, lambda: 0)])


def _printed_or_not(home: Home, asked: FollowedInputs) -> FollowedInputs:
    """Return the inputs with whether the log is a server.log, by its lines or the home's note. Raises UserError."""
    if not asked.log:
        return asked
    kind = home.read_note().get("kind")
    if kind is not None and kind not in (PRINTED_SHADOW, PRINTED_BOTH_SHADOW):
        return asked
    if kind is None and kind_of(asked.log) is not FileKind.PRINTED:
        return asked
    of_the_broker, of_groups = split_given(asked.given)
    if of_the_broker or (of_groups and not asked.cluster):
        what = "--set of a broker" if asked.cluster else "--set"
        raise UserError(f"{asked.log}: is what a broker prints on its own; {what} is said of a request log.")
    return replace(asked, is_printed=True)


def _check_same(home: Home, kept: ShadowState | PrintedKept, log: str, zone: str) -> None:
    """Raises HomeError: the home follows another log, or one in another zone."""
    for what, was, wanted in (("log", kept.log, log), ("zone", kept.zone, zone)):
        if was != wanted:
            raise HomeError(f"{home.shown} follows the {what} {was}, not {wanted}: name another home.")


def tail_of(kept: ShadowState) -> LogTail:
    """The log, from the place up to which it was read. Raises LogFileError, ZoneError."""
    return LogTail(Path(kept.log), zone_of(kept.zone), kept.position)


def kept_of(
    home: Home, kept: ShadowState | None, log: str, zone: str, given: Mapping[str, str], console: Console
) -> ShadowState:
    """The state that the home holds of this log, or a new one. kept: what the home holds.

    given: broker settings that the user knows. A new shadow takes the others from the log; an existing one keeps its
    own. Raises HomeError, LogFileError, ZoneError, ConfigError.
    """
    shadow_config(given)
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
