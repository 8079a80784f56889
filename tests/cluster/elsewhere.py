"""Everything away from one machine's disk: Kafka in, a Spark cluster that computes, an object store out, and a gateway.

Knows how the lines of docs/cluster.md are filled in and how each part is started; must not know what clients do.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import psutil
import pyarrow as pa
from deltalake import DeltaTable
from kafka import KafkaConsumer, TopicPartition

from rollcall.jobs.package import pack
from rollcall.jobs.spark.jars import shipped_artifacts
from rollcall.schemas.tables import EFFECTS
from rollcall.serve.listeners.addresses import Address, parse_address
from rollcall.serve.page.__main__ import LISTENS as PAGE_IS_AT
from tests.brief_java import EXECUTORS
from tests.cluster.cluster_command import submit_command
from tests.cluster.object_store import ObjectStore, object_store
from tests.cluster.spark_cluster import SPARK, SparkCluster, spark_cluster
from tests.peers_job.reported import Reported
from tests.peers_kafka.kafka import Broker
from tests.peers_kafka.submitted import TOPIC, make_topic, readme_settings
from tests.source_tree import ROOT
from tests.waiting import until

BUCKET = "bucket"
PARTITIONS = 3
WORKERS = 3
S3_PACKAGES = (
    "org.apache.hadoop:hadoop-aws:3.5.0",
    "software.amazon.awssdk:s3:2.35.4",
    "software.amazon.awssdk:s3-transfer-manager:2.35.4",
    "software.amazon.awssdk:sts:2.35.4",
)
"""What docs/deploying.md adds to the packages of docs/cluster.md for `s3a://`."""
LEFT_OUT = ("software.amazon.awssdk:bundle", "com.google.code.findbugs:jsr305")
"""Of the packages: half a gigabyte that S3_PACKAGES stand for, and annotations. Beside it what Spark ships."""
START_S = 240.0
LISTENS = "rollcall: the gateway listens on "
RUNS = "rollcall: the coordinator runs on "


class Elsewhere:
    """The parts, each of which a test may stop, kill and start."""

    def __init__(self, folder: Path, store: ObjectStore, broker: Broker, cluster: SparkCluster) -> None:
        self.folder, self.store, self.broker, self.cluster = folder, store, broker, cluster
        self.settings = folder / "cluster.conf"
        text = readme_settings(broker.address).replace("group.min.session.timeout.ms=100", "topics=work:12,wide:60")
        self.settings.write_text(text)
        self._package = pack(folder / "rollcall.zip")
        self._numbers = itertools.count()
        self._processes: list[subprocess.Popen[bytes]] = []

    def command(self, home: str, settings: Mapping[str, str]) -> list[str]:
        """The spark-submit of docs/cluster.md with this cluster's master, this home, what the store needs, settings."""
        words = submit_command()
        for option, value in (
            ("--master", self.cluster.master),
            ("--py-files", str(self._package)),
            ("--home", home),
            ("--conf-file", str(self.settings)),
        ):
            words[words.index(option) + 1] = value
        packages = words.index("--packages") + 1
        words[packages] = ",".join([words[packages], *S3_PACKAGES])
        every = {
            **self.store.spark_settings(),
            "spark.jars.ivy": str(ROOT / "build" / "ivy"),
            "spark.sql.shuffle.partitions": str(PARTITIONS),
            "spark.driver.memory": "768m",
            "spark.executor.memory": "600m",
            "spark.driver.host": "127.0.0.1",
            **settings,
        }
        more = [word for key, value in every.items() for word in ("--conf", f"{key}={value}")]
        program = words.index("jobs/coordinator.py")
        return [
            str(SPARK / "bin" / "spark-submit"),
            *words[1:program],
            *("--exclude-packages", ",".join([*LEFT_OUT, *(f"*:{one}" for one in shipped_artifacts(SPARK))])),
            *EXECUTORS,
            *more,
            *words[program:],
        ]

    def submit(self, home: str, settings: Mapping[str, str] = MappingProxyType({})) -> Program:
        """The job on a home, started and waited for until its query runs."""
        environ = {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        log = self.folder / f"driver-{next(self._numbers)}.log"
        with log.open("w") as out:
            process = subprocess.Popen(self.command(home, settings), cwd=ROOT, env=environ, stdout=out, stderr=out)
        self._processes.append(process)
        driver = Program(process, log)
        driver.await_line(RUNS)
        return driver

    def gateway(self, home: str) -> Address:
        """A gateway before a home, started and waited for."""
        words = ["--conf", str(self.settings), "--listen", "127.0.0.1:0", "--set", "gateway.metrics.listen="]
        line = self._start("gateway", home, *words).await_line(LISTENS)
        return parse_address("the gateway", line.removeprefix(LISTENS).partition(";")[0])

    @contextmanager
    def page(self, home: str) -> Iterator[str]:
        """The page of a home; gives its address."""
        page = self._start("page", home, "--listen", "127.0.0.1:0")
        yield page.await_line(PAGE_IS_AT).removeprefix(PAGE_IS_AT).partition(";")[0]
        page.stop()

    def _start(self, program: str, home: str, *words: str) -> Program:
        log = self.folder / f"{program}-{next(self._numbers)}.log"
        command = [sys.executable, "-m", f"rollcall.serve.{program}", "--home", home, *words]
        with log.open("w") as out:
            process = subprocess.Popen(command, cwd=ROOT, env=self.environ(), stdout=out, stderr=out)
        self._processes.append(process)
        return Program(process, log)

    def environ(self) -> dict[str, str]:
        """For programs that read a home."""
        cache = {"XDG_CACHE_HOME": str(self.folder / "cache"), "PYTHONUNBUFFERED": "1"}
        return {**os.environ, **self.store.environ(), **cache}

    def rollcall(self, *words: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """A subcommand, to its end."""
        command = [sys.executable, "-m", "rollcall", *words]
        every = {**self.environ(), **(environ or {})}
        return subprocess.run(command, cwd=ROOT, env=every, capture_output=True, text=True, check=False, timeout=300)

    def table(self, home: str, name: str = "effects") -> DeltaTable | None:
        """A table of a home; None where there is no such table yet."""
        path, options = f"{home.replace('s3a://', 's3://')}/{name}", self.store.delta_options()
        return DeltaTable(path, storage_options=options) if DeltaTable.is_deltatable(path, options) else None

    def rows(self, home: str, name: str = "effects") -> list[dict[str, Any]]:
        """A table's rows; none where there is no such table yet."""
        table = self.table(home, name)
        return [] if table is None else table.to_pyarrow_table().to_pylist()

    def reported(self, home: str) -> Reported:
        """What a home says of its clients."""
        return _ReportedElsewhere(self, home)

    def asked(self) -> list[dict[str, Any]]:
        """Every record of the topic that is a request of a gateway."""
        consumer = KafkaConsumer(TOPIC, bootstrap_servers=self.broker.address, consumer_timeout_ms=5000)
        consumer.poll(0)
        places = [TopicPartition(TOPIC, number) for number in consumer.partitions_for_topic(TOPIC)]
        ends = consumer.end_offsets(places)
        consumer.unsubscribe()
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        found = []
        while any(consumer.position(place) < ends[place] for place in places):
            for records in consumer.poll(1000).values():
                found += [msgspec.json.decode(record.value) for record in records]
        consumer.close()
        return [row for row in found if "received_at_ms" in row]

    def end(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
                process.wait()


class _ReportedElsewhere(Reported):
    every_s = 2.0
    patience_s = 240.0

    def __init__(self, parts: Elsewhere, home: str) -> None:
        self._parts, self._home = parts, home

    def table(self, since_ms: int = 0) -> pa.Table:
        # The store may be told to refuse everybody for a while.
        found = until(lambda: self._read(since_ms), "the store to answer", self.patience_s, self.every_s)
        return found[0]

    def _read(self, since_ms: int) -> tuple[pa.Table] | None:
        try:
            table, since = self._parts.table(self._home), [("at_ms", ">=", since_ms)]
            return (EFFECTS.arrow.empty_table() if table is None else table.to_pyarrow_table(filters=since),)
        except OSError:
            return None

    def request_ids(self) -> set[str]:
        return {row["request_id"] for row in self._parts.asked()}


class Program:
    """A program that was started and says in its log how it fares."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self.log = process, log

    def await_line(self, beginning: str) -> str:
        """The first line that begins so."""

        def said() -> str | None:
            found = [line for line in self.log.read_text().splitlines() if line.startswith(beginning)]
            assert found or self.process.poll() is None, self.log.read_text()[-6000:]
            return found[0] if found else None

        return until(said, lambda: self.log.read_text()[-3000:], START_S)

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait(120) == 0, self.log.read_text()[-6000:]

    def kill(self) -> None:
        """SIGKILL to it and to what it started."""
        for process in psutil.Process(self.process.pid).children(recursive=True):
            process.kill()
        self.process.kill()
        self.process.wait()


@contextmanager
def elsewhere(folder: Path) -> Iterator[Elsewhere]:
    """All the parts, running."""
    with ExitStack() as stack:
        store = stack.enter_context(object_store(folder))
        store.make_bucket(BUCKET)
        broker = Broker(folder)
        broker.start()
        stack.callback(broker.stop)
        make_topic(broker.address, PARTITIONS)
        cluster = stack.enter_context(spark_cluster(folder, WORKERS))
        parts = Elsewhere(folder, store, broker, cluster)
        stack.callback(parts.end)
        yield parts
