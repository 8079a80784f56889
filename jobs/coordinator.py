"""The coordinator job: one streaming query on one home until SIGTERM or Ctrl-C, which let the running batch finish.

    spark-submit jobs/coordinator.py [--home FOLDER] [--conf FILE] [--set key=value]...
    python -m rollcall.jobs.coordinator ...     the same, on this machine

Exit status 1 when the query failed, otherwise as `rollcall.programs.running` says. Knows how the program is started and
ended; must not know how the query works (that is `rollcall.jobs.stream.query`).
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rollcall.answers.sql.named_partitions import named_partitions
from rollcall.jobs.config import GATEWAY_PREFIX, PREFIX, JobConfig
from rollcall.jobs.job_monitor import JobMonitor, tell_address
from rollcall.jobs.spark.connectors import check_connectors
from rollcall.jobs.spark.session import home_session, listen_in_jvm, log_settings, stop_session, submitted_settings
from rollcall.jobs.spark.store_folder import held
from rollcall.jobs.stream.query import check_fits, failure_of, start, stop_after_batch, unread_commits
from rollcall.jobs.stream.upkeep import Beside, Upkeep
from rollcall.jobs.stream.waits import WaitsReader
from rollcall.jobs.stream.writers.batch_result import BatchResult
from rollcall.programs.command_line import conf_option, examples, home_option, run_command, set_option
from rollcall.programs.log_lines import log_to_standard_error, tell
from rollcall.programs.settings import read_file, read_pairs
from rollcall.programs.stop_signal import StopSignal
from rollcall.tables.home import LIVE, Home
from rollcall.tables.job_status import STATUS_FILE, StatusWriter
from rollcall.tables.lease import Lease

if TYPE_CHECKING:
    from rollcall.serve.gateway.settings import Settings

POLL_S = 0.2
_SHOWN_GROUPS, _SHOWN_OF_A_GROUP_ID = 3, 100


def run(home: Home, config: JobConfig, gateway: Settings | None = None) -> int:
    """Runs the query until a signal comes or it fails; returns the exit status. gateway: of one before a Kafka."""
    if home.is_local:
        home.check_kind(LIVE, config.effects_writer)
    with closing(JobMonitor(home, config)) as monitor:
        spark = home_session(home, "rollcall", log_settings(config.log_format))
        try:
            check_connectors(spark, config)
            with held(spark, home, "the coordinator") as lease:
                return _run(spark, home, config, lease, monitor, _besides(home, config, gateway))
        finally:
            stop_session(spark)


def _besides(home: Home, config: JobConfig, gateway: Settings | None) -> list[Beside]:
    """The sampler of log ends of the Kafka behind the gateway. It runs here, since a home has only one coordinator."""
    if gateway is None or not home.is_local or not config.lag_interval_ms:
        return []
    # Imported here: a coordinator without such a gateway needs no Kafka client.
    from rollcall.inputs.following.listed_offsets import ListedOffsets
    from rollcall.inputs.following.log_ends_sampler import LogEndsSampler
    from rollcall.serve.gateway.upstream.upstream_client import upstream_settings

    return [LogEndsSampler(home, ListedOffsets(upstream_settings(gateway)), named_partitions, config.lag_interval_ms)]


def _run(
    spark: SparkSession,
    home: Home,
    config: JobConfig,
    lease: Lease | None,
    monitor: JobMonitor,
    besides: list[Beside],
) -> int:
    stop = StopSignal()
    listen_in_jvm(stop, spark)
    status = StatusWriter(home.path if home.is_local else None)
    resting = WaitsReader(spark, Path(home.checkpoint)) if home.is_local and config.may_rest else None

    def committed(result: BatchResult) -> None:
        status.batch_done(*result[:3], None if resting is None else resting.waits.batch_done(result.waits))
        monitor.committed(result)
        if result.put_off:
            tell(_put_off(result.put_off))

    before_batch = None if lease is None else lease.check_before_batch
    note = "" if resting is None else str(home.path / STATUS_FILE)
    coordinator = start(spark, home, config, before_batch=before_batch, on_batch=committed, status=note)
    query = coordinator.query
    status.running(query.id, coordinator.started_at_ms)
    monitor.watch(query)
    if home.is_local:
        besides = [*besides, Upkeep(home, config, lambda: unread_commits(query, home))]
    if resting is not None:
        besides = [*besides, resting]
    for beside in besides:
        beside.start()
    tell(f"the coordinator runs on {home.shown}; Ctrl-C stops it.")
    tell_address(monitor)
    while query.isActive and not stop.wait(POLL_S):
        monitor.look()
    if query.isActive:
        stop_after_batch(query, lambda: stop.is_urgent)
    for beside in besides:
        beside.stop()
    return _report(query, stop.wait(0), status)


def _put_off(groups: tuple[str, ...]) -> str:
    named = ", ".join(repr(group[:_SHOWN_OF_A_GROUP_ID]) for group in groups[:_SHOWN_GROUPS])
    more = f" and {len(groups) - _SHOWN_GROUPS} more" if len(groups) > _SHOWN_GROUPS else ""
    return f"a turn cost more than {PREFIX}turn.max.work and continues in the next batch: group {named}{more}."


def _report(query: StreamingQuery, was_asked: bool, status: StatusWriter) -> int:
    """Prints how the query ended; returns the exit status. A batch that a stop interrupted runs again."""
    reason = failure_of(query)
    if reason is not None and not was_asked:
        status.failed(reason, str(query.exception()))
        tell(f"the query failed: {reason}", is_error=True)
        return 1
    status.stopped()
    if reason is not None:
        tell(f"the last batch was cut short and is run again at the next start ({reason}).", is_error=True)
    tell("the coordinator has stopped.")
    return 0


@click.command(epilog=examples("spark-submit jobs/coordinator.py --home .rollcall --conf conf/mine.conf"))
@home_option
@conf_option
@set_option("A setting, over the file's")
def command(home: str, conf: Path | None, given: tuple[str, ...]) -> int:
    """Run the coordinator on a home until SIGTERM or Ctrl-C, which let the running batch finish."""
    submitted = {key: value for key, value in submitted_settings().items() if key.startswith(PREFIX)}
    pairs = ({} if conf is None else read_file(conf)) | submitted | read_pairs(given, "--set ")
    config, gateway = JobConfig.from_pairs(pairs), gateway_before_kafka(pairs)
    log_to_standard_error(logging.WARNING, config.log_format)
    place = Home(home)
    check_fits(place, config)
    if not place.is_local:
        return run(place, config)
    with place.locked("the coordinator"):
        return run(place, config, gateway)


def gateway_before_kafka(pairs: Mapping[str, str]) -> Settings | None:
    """The gateway's settings if they name a Kafka behind it, otherwise None. Raises ConfigError."""
    if f"{GATEWAY_PREFIX}upstream" not in pairs:
        return None
    from rollcall.serve.gateway.settings import Settings

    gateway = Settings.from_pairs({key: text for key, text in pairs.items() if key.startswith(GATEWAY_PREFIX)})
    return None if gateway.upstream is None else gateway


if __name__ == "__main__":
    sys.exit(run_command(command, "coordinator"))
