"""A standalone Spark cluster of this machine: a master and workers as processes, by the pyspark package's classes.

Knows how they are started, found and killed; must not know what runs on them.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pyspark

from tests.ports import free_port
from tests.waiting import until

SPARK = Path(pyspark.__file__).parent
WORKER_MB = 1024
_STARTED_WITHIN_S = 120.0
_DAEMON = {"SPARK_DAEMON_MEMORY": "192m", "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


class SparkCluster:
    """A master and workers of one core each."""

    def __init__(self, folder: Path) -> None:
        self._folder, port = folder, free_port()
        self.master = f"spark://127.0.0.1:{port}"
        words = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port())]
        self._master = self._start("master", "org.apache.spark.deploy.master.Master", *words)
        self.workers: list[subprocess.Popen[bytes]] = []
        self._await("master", "I have been elected leader")

    def start_worker(self) -> None:
        name = f"worker-{len(self.workers)}"
        words = ["--host", "127.0.0.1", "--webui-port", str(free_port()), "--cores", "1", "--memory", f"{WORKER_MB}m"]
        words += ["--work-dir", str(self._folder / name), self.master]
        self.workers.append(self._start(name, "org.apache.spark.deploy.worker.Worker", *words))
        self._await(name, "Successfully registered with master")

    def kill_worker(self, number: int) -> None:
        """SIGKILL to a worker, to its executor, and to the executor's Python processes: a machine that is gone."""
        worker = self.workers[number]
        for process in [*psutil.Process(worker.pid).children(recursive=True), psutil.Process(worker.pid)]:
            process.kill()
        worker.wait()

    def end(self) -> None:
        for process in [*self.workers, self._master]:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in [*self.workers, self._master]:
            process.wait(60)

    def _start(self, name: str, java_class: str, *words: str) -> subprocess.Popen[bytes]:
        environ = {**os.environ, **_DAEMON, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
        with (self._folder / f"{name}.log").open("w") as log:
            command = [str(SPARK / "bin" / "spark-class"), java_class, *words]
            return subprocess.Popen(command, env=environ, stdout=log, stderr=log, start_new_session=True)

    def _await(self, name: str, words: str) -> None:
        """Until a process says so in its log."""
        log = self._folder / f"{name}.log"
        until(
            lambda: words in log.read_text(), lambda: f"{name} to start: {log.read_text()[-2000:]}", _STARTED_WITHIN_S
        )


@contextmanager
def spark_cluster(folder: Path, workers: int) -> Iterator[SparkCluster]:
    """A cluster of this many workers. folder: for logs and the workers' files."""
    cluster = SparkCluster(folder)
    try:
        for _ in range(workers):
            cluster.start_worker()
        yield cluster
    finally:
        cluster.end()
