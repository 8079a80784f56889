"""A running job's Spark answers queries about its home, one at a time, where DuckDB cannot: see `jobs.warm_spark`.

It is never in a batch's way: a thread of its own takes one question after the other, its tasks are few and run in a
pool that gets what batches leave, and what takes longer than LONGEST_S or more than MOST_CHARACTERS is given up: who
asked starts a Spark then. Knows the session of a question; must not know the query that the job runs.
"""

from __future__ import annotations

import io
import json
import logging
import os
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from jobs.home import Home
from jobs.shown.answers import table_texts, write_answer
from jobs.spark.jars import ROOT
from jobs.spark.views import ask, refusals_named, register_views
from jobs.warm_spark import SOCKET_NAME, Question
from programs.errors import UserError
from views.catalog import names_in

LONGEST_S = 60.0
MOST_CHARACTERS = 1 << 24
POOL = "sql"
POOLS = ROOT / "conf" / "spark-pools.xml"
_TEXT_BYTES = 1 << 16
_QUESTION_BYTES = 1 << 20
_PATIENCE_S = 2.0
_AGAIN_S = 0.2
_FEW_TASKS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.maxPartitionBytes": "1g",
}
_log = logging.getLogger(__name__)


class _TooLong(Exception):
    """An answer that a job does not hold in memory for anybody."""


class _Bounded(io.StringIO):
    """A text of at most MOST_CHARACTERS, for a terminal or not. Raises _TooLong."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        if self.tell() + len(text) > MOST_CHARACTERS:
            raise _TooLong
        return super().write(text)


def pool_settings() -> dict[str, str]:
    """What a session needs so that its batches come before anybody's question."""
    # Packed for --py-files there is no file beside the code; then there is no such pool either.
    if not POOLS.is_file():
        return {}
    return {"spark.scheduler.mode": "FAIR", "spark.scheduler.allocation.file": POOLS.as_uri()}


class WarmAnswers:
    """Answers at a home's socket from `start` until `stop`."""

    def __init__(self, spark: SparkSession, home: Home) -> None:
        self._spark, self._home = spark, home
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Opens the socket. Where that fails, nobody is answered here, and the job goes on."""
        try:
            self._socket = _listen(self._home.path)
        except OSError as error:
            _log.warning("no SQL by this job's Spark: %s", error)
            return
        self._thread = InheritableThread(target=self._serve, name="warm SQL", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Closes the socket; a question under way is given up."""
        if self._socket is None:
            return
        (self._home.path / SOCKET_NAME).unlink(missing_ok=True)
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self) -> None:
        assert self._socket is not None
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(_PATIENCE_S)
                try:
                    self._answer(connection)
                except OSError:
                    _log.info("whoever asked in SQL has gone")
                except (ValueError, KeyError, TypeError) as error:
                    _log.warning("what came at the SQL socket is no question: %s: %s", type(error).__name__, error)
                except Exception:
                    _log.exception("a question in SQL could not be answered; the next one can be asked")

    def _answer(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as asked:
            line = asked.readline(_QUESTION_BYTES)
        question: Question = json.loads(line)
        _say(connection, {"taken": True})
        group = f"sql {uuid.uuid4()}"
        is_answered, is_over = threading.Event(), threading.Event()

        def give_up_in_time() -> None:
            if is_answered.wait(LONGEST_S):
                return
            is_over.set()
            # A job that Spark still plans cannot be cancelled: it is, once it has begun.
            while not is_answered.wait(_AGAIN_S):
                self._spark.sparkContext.cancelJobGroup(group)

        threading.Thread(target=give_up_in_time, name="limit of warm SQL", daemon=True).start()
        try:
            for frame in self._frames(question, group):
                _say(connection, frame)
            _say(connection, {"done": True})
        except _TooLong:
            _say(connection, {"gone": "the answer is too long for it"})
        except UserError as refusal:
            _say(connection, {"gone": "it took too long"} if is_over.is_set() else {"refused": str(refusal)})
        finally:
            is_answered.set()

    def _frames(self, question: Question, group: str) -> Iterator[dict[str, Any]]:
        session = self._spark.newSession()
        for key, value in _FEW_TASKS.items():
            session.conf.set(key, value)
        context = session.sparkContext
        context.setLocalProperty("spark.scheduler.pool", POOL)
        context.setJobGroup(group, "a question in SQL", interruptOnCancel=True)
        register_views(session, self._home, names_in(question["query"]), question["at"])
        found = ask(session, question["query"])
        with refusals_named():
            if question["form"] == "table":
                names, are_numbers, rows = table_texts(found)
                yield {"names": names, "are_numbers": are_numbers, "rows": rows}
                return
            out = _Bounded(is_terminal=question.get("is_terminal", False))
            write_answer(found, question["form"], out)
        text = out.getvalue()
        for start in range(0, len(text), _TEXT_BYTES):
            yield {"text": text[start : start + _TEXT_BYTES]}


def _listen(home: Path) -> socket.socket:
    """Listens at the home's socket, which nobody else could open for a moment either."""
    private = Path(mkdtemp(prefix=".sql-", dir=home))
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened = os.open(private, os.O_RDONLY | os.O_DIRECTORY)
        try:
            through = Path("/proc/self/fd")
            place = through / str(opened) if through.is_dir() else private
            listening.bind(str(place / SOCKET_NAME))
        finally:
            os.close(opened)
        (private / SOCKET_NAME).chmod(0o600)
        listening.listen(8)
        (private / SOCKET_NAME).replace(home / SOCKET_NAME)
        return listening
    except OSError:
        listening.close()
        raise
    finally:
        with suppress(OSError):
            private.rmdir()


def _say(connection: socket.socket, frame: dict[str, Any]) -> None:
    connection.sendall(json.dumps(frame).encode() + b"\n")
