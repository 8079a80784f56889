"""Spark for what an earlier version left, once: in a process of its own, whose JVM ends with it."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context

from rollcall.programs.extras import SPARK, check_installed
from rollcall.programs.log_lines import tell
from rollcall.tables.home import Home, HomeError


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
