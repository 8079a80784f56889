"""The spark-submit of docs/cluster.md command on a topic of a broker here, run as a program and watched by its tables.

Knows that page's text and how to start and stop the program; must not know a test.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka.admin import KafkaAdminClient, NewTopic

from rollcall.jobs.package import pack
from rollcall.jobs.spark.jars import jar_paths
from rollcall.tables.home import Home
from tests.cluster.cluster_command import command_here
from tests.peers_kafka.kafka import broker, connector_jars
from tests.source_tree import ROOT
from tests.streaming.live import read_rows
from tests.waiting import until

TOPIC = "rollcall-requests"


@contextmanager
def broker_for_jobs(folder: Path) -> Iterator[str]:
    """A broker with the topic that the job reads; gives its address."""
    with broker(folder) as address:
        make_topic(address, partitions=2)
        yield address


def make_topic(address: str, partitions: int) -> None:
    """The topic that the job reads."""
    admin = KafkaAdminClient(bootstrap_servers=address)
    admin.create_topics([NewTopic(TOPIC, num_partitions=partitions, replication_factor=1)])
    admin.close()


def readme_settings(bootstrap: str) -> str:
    """The page's conf/cluster.conf with this broker's address, and sessions short enough to wait for."""
    section = (ROOT / "docs" / "cluster.md").read_text().partition("with a `conf/cluster.conf` of")[2]
    found = re.search(r"```properties\n(.*?)```", section, re.DOTALL)
    assert found is not None
    settings = re.sub(r"(kafka\.bootstrap\.servers)=.*", rf"\1={bootstrap}", found.group(1))
    return settings + "group.initial.rebalance.delay.ms=0\ngroup.min.session.timeout.ms=100\n"


REFUSED_WITHIN_S = 90
"""Half a minute where nothing else runs; a test machine may be busy."""


class Submitted:
    """The page's job on a home, reading the topic of this broker."""

    def __init__(self, tmp_path: Path, bootstrap: str, *more: str, place: str = "", jars: Sequence[str] = ()) -> None:
        """place: the home's URL; the folder's `home` else. more: words before the program's. jars: more of them."""
        self.home = Home(tmp_path / "home")
        settings = tmp_path / "cluster.conf"
        settings.write_text(readme_settings(bootstrap))
        command = command_here(self.home.path, settings, pack(tmp_path / "rollcall.zip"))
        command[command.index("--jars") + 1] = ",".join([*jar_paths(), *connector_jars(), *jars])
        if place:
            command[command.index("--home") + 1] = place
        program = command.index("jobs/coordinator.py")
        self.command = [*command[:program], *more, *command[program:]]
        # A file, for Spark's log would fill a pipe that nobody reads.
        self.log = tmp_path / "job.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environ = {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command, cwd=ROOT, env=environ, stdout=log, stderr=log)

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        assert self.process.wait(120) == 0, self.log.read_text()

    def kill(self) -> None:
        """Ends what still runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def refusal(self) -> str:
        """The one sentence with which a job ends that may not start; started here, with a log of its own."""
        self.start()
        assert self.process is not None
        try:
            assert self.process.wait(REFUSED_WITHIN_S) not in (0, None), self.log.read_text()
        finally:
            self.kill()
        printed = self.log.read_text()
        assert "Traceback" not in printed, printed
        (sentence,) = re.findall(r"^rollcall: (.+)$", printed, re.MULTILINE)
        return str(sentence)

    def effects(self, kind: str) -> list[dict[str, Any]]:
        return [row for row in read_rows(self.home.effects) if row["effect"] == kind]

    def await_effects(self, kind: str, count: int) -> list[dict[str, Any]]:
        def are_there() -> list[dict[str, Any]] | None:
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()
            found = self.effects(kind)
            return found if len(found) >= count else None

        return until(are_there, f"{count} of {kind}", within_s=300)
