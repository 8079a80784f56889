"""A log's home of an earlier version, in which Spark answered the requests: it answers those that are left, once.

Knows the query. Must not know a state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from multiprocessing import get_context
from pathlib import Path

from rollcall.inputs.following.printed_source import PrintedKept
from rollcall.inputs.following.request_source import ShadowState
from rollcall.jobs.log_config import shadow_config
from rollcall.jobs.stream.checkpoint import read_version
from rollcall.programs.extras import SPARK, check_installed
from rollcall.programs.log_lines import tell
from rollcall.tables.home import Home, HomeError
from rollcall.tables.versions import Versions, is_table


def finish_earlier(home: Home, kept: ShadowState | PrintedKept | None) -> None:
    """Lets Spark answer the committed requests that it has not answered. Raises HomeError: it failed."""
    if not isinstance(kept, ShadowState) or kept.requests is not None:
        return
    read = read_version(Path(home.checkpoint))
    if not is_table(home.requests) or read is None or read >= Versions(Path(home.requests)).latest():
        return
    run_once(home, "requests without their facts; Spark finishes them", _answer_all, kept.settings)


def _answer_all(location: str, settings: Mapping[str, str]) -> None:
    # Imported here: other homes need no Spark.
    from rollcall.jobs.spark.session import home_session
    from rollcall.jobs.stream.query import start

    home = Home(location)
    spark = home_session(home, "rollcall shadow", {})
    start(spark, home, shadow_config(settings), until_drained=True).query.awaitTermination()
    spark.stop()


def run_once(home: Home, why: str, job: Callable[..., None], *arguments: object) -> None:
    """Says why, and runs the job with the home's location and the arguments. Raises HomeError: it failed.

    job: of a module, and imports Spark itself, since other homes need none.
    """
    check_installed(SPARK)
    tell(f"an earlier version has left {why}, this once.")
    process = get_context("spawn").Process(target=job, args=(home.location, *arguments))
    process.start()
    process.join()
    if process.exitcode:
        raise HomeError(f"{home.shown} could not be taken over from the earlier version: see above.")
