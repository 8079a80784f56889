"""Whether the program in this container is well: exit status 0, or 1 with a sentence. The image's HEALTHCHECK.

Each /health that the container serves must answer 200. A program that serves none, as a shadow of a log, is well while
its home's status.json says that it runs. Where a port answers it needs the standard library alone, so that it takes a
tenth of a second.

    python health.py [HOST:PORT]...     ask these instead of the ports that Rollcall's programs have
"""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

PLACES = ("127.0.0.1:9465", "127.0.0.1:9464", "127.0.0.1:9308", "127.0.0.1:8080")
"""The job, the gateway, the exporter and the page."""
TIMEOUT_S = 8.0


def answer_of(place: str) -> int | None:
    """The HTTP status of a place's /health; None where nothing listens."""
    try:
        with urllib.request.urlopen(f"http://{place}/health", timeout=TIMEOUT_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except urllib.error.URLError as error:
        return None if isinstance(error.reason, ConnectionRefusedError) else 0
    except OSError:
        return 0


def is_job_running(home: Path) -> bool:
    """Whether the home's status.json names a job that runs, and whose process is there."""
    from rollcall.programs.process_ids import is_alive
    from rollcall.tables.job_status import read_status

    status = read_status(home)
    if status is None or status.process is None:
        return False
    return status.state in ("starting", "running") and is_alive(status.process)


def trouble(places: Sequence[str], home: Path) -> str:
    """What is not well, in a sentence; empty where all is well."""
    answers = {place: answer for place in places if (answer := answer_of(place)) is not None}
    for place, answer in answers.items():
        if answer != 200:
            return f"http://{place}/health answers {answer or 'nothing'}."
    if not answers and not is_job_running(home):
        return f"nothing serves /health on {', '.join(places)}, and {home} has no job that runs."
    return ""


if __name__ == "__main__":
    if found := trouble(sys.argv[1:] or PLACES, Path(os.environ.get("ROLLCALL_HOME", ".rollcall"))):
        sys.exit(found)
