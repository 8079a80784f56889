"""A folder of small files where Spark writes: in an object store, on HDFS or on a disk, through Hadoop's file systems.

A job holds the lease on a home in such a store; a home on this machine's disk has a lock. Knows Hadoop's FileSystem and
how its errors are worded for a user. Must not know what the files say, nor a lease's rules (`rollcall.tables.lease`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar, cast

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from rollcall.tables.home import Home, HomeError
from rollcall.tables.lease import Lease, take_lease

ANSWER_WITHIN_S = 15.0
"""The time limit of one answer. Hadoop's own clients try for minutes."""
CONNECTORS = {
    "s3a": "org.apache.hadoop:hadoop-aws:3.5.0",
    "abfs": "org.apache.hadoop:hadoop-azure:3.5.0",
    "abfss": "org.apache.hadoop:hadoop-azure:3.5.0",
    "gs": "org.apache.hadoop:hadoop-gcp:3.5.0",
}
"""By scheme, the package with its file system, for Spark's version of Hadoop."""
_NO_CONNECTOR = ("UnsupportedFileSystemException", "ClassNotFoundException", "NoClassDefFoundError")
_NO_RIGHT = ("AccessDeniedException", "AccessControlException", "NoAuthWithAWSException", "NoAwsCredentialsException")
Answer = TypeVar("Answer")


class _Asker:
    """Asks one question after the other in a daemon thread, so that the program can end without it.

    There is one thread for all questions, since each thread that asks the JVM keeps a connection to it.
    """

    def __init__(self) -> None:
        self._questions: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        threading.Thread(target=self._run, name="store", daemon=True).start()

    def ask(self, question: Callable[[], Answer]) -> Future[Answer]:
        answer: Future[Answer] = Future()
        self._questions.put((question, answer))
        return answer

    def _run(self) -> None:
        while True:
            question, answer = self._questions.get()
            try:
                answer.set_result(question())
            except BaseException as error:  # the caller gets any error
                answer.set_exception(error)


class StoreFolder:
    """A folder, as `rollcall.tables.lease.Folder` has it; made when its first file is written."""

    def __init__(self, spark: SparkSession, location: str, shown: str) -> None:
        """Opens a folder at a URL. shown: the user's name for it.

        Raises HomeError: the store's connector is missing, or the store does not answer, or refuses.
        """
        self._jvm: Any = cast(Any, spark.sparkContext._jvm)
        configuration: Any = cast(Any, spark.sparkContext._jsc).hadoopConfiguration()
        self._shown = shown
        self._location = location
        self._asker = _Asker()
        self._store = self._ask(lambda: self._path("").getFileSystem(configuration))

    def changed_at(self) -> dict[str, int]:
        def listed() -> dict[str, int]:
            if not self._store.exists(self._path("")):
                return {}
            files = self._store.listStatus(self._path(""))
            return {str(each.getPath().getName()): int(each.getModificationTime()) for each in files}

        return self._ask(listed)

    def read(self, name: str) -> str:
        def text() -> str:
            if not self._store.exists(self._path(name)):
                return ""
            stream = self._store.open(self._path(name))
            try:
                return bytes(stream.readAllBytes()).decode("utf-8", "replace")
            finally:
                stream.close()

        return self._ask(text)

    def write(self, name: str, text: str) -> None:
        def written() -> None:
            stream = self._store.create(self._path(name), True)
            stream.write(bytearray(text.encode()))
            stream.close()

        self._ask(written)

    def delete(self, name: str) -> None:
        self._ask(lambda: self._store.delete(self._path(name), False))

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._location}/{name}" if name else self._location)

    def _ask(self, question: Callable[[], Answer]) -> Answer:
        """Asks the store until it answers or time runs out. Raises HomeError, with a sentence for the user."""
        try:
            return self._asker.ask(question).result(ANSWER_WITHIN_S)
        except TimeoutError:
            raise HomeError(f"{self._shown}: the store does not answer within {ANSWER_WITHIN_S:.0f} s.") from None
        except Py4JError as error:
            raise HomeError(self._sentence(error)) from None

    def _sentence(self, error: Py4JError) -> str:
        """What went wrong, by the classes of the error and of its causes."""
        names, words = [], ""
        cause = getattr(error, "java_exception", None)
        while cause is not None:
            names.append(str(cause.getClass().getSimpleName()))
            words = str(cause.getMessage() or words or names[-1])
            cause = cause.getCause()
        return sentence_of(self._shown, names, words or str(error))


def sentence_of(shown: str, names: list[str], words: str) -> str:
    """A store's error in a sentence. names: Java's classes of the error and its causes. words: the last one's text."""
    scheme = shown.partition("://")[0]
    first_line = words.strip().splitlines()[0] if words.strip() else "no reason given"
    if any(name in _NO_CONNECTOR for name in names):
        package = CONNECTORS.get(scheme)
        advice = f"add --packages {package}" if package else "name a place that Spark has a file system for"
        return f"{shown}: the connector for {scheme} is missing ({first_line}): {advice}."
    if any(name in _NO_RIGHT for name in names) or "403" in first_line:
        return f"{shown}: no right to read and write there: {first_line}"
    if "UnknownStoreException" in names or "NoSuchBucket" in first_line:
        return f"{shown}: there is no such bucket: {first_line}"
    return f"{shown}: the store refuses: {first_line}"


@contextmanager
def held(spark: SparkSession, home: Home, who: str) -> Iterator[Lease | None]:
    """Holds a home for one job; None for a home that has a lock instead.

    Raises HomeError: another job works in it, or its store cannot be used. who: the holder's name for other jobs.
    """
    if home.is_local:
        yield None
        return
    lease = take_lease(StoreFolder(spark, home.lease, home.shown), who, home.shown)
    lease.keep()
    try:
        yield lease
    finally:
        lease.release()
