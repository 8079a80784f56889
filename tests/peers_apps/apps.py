"""Kafka Connect's workers and a Kafka Streams application as processes: from Maven's JARs, fetched once into build/.

Knows how each is started, asked and killed; must not know what is asked of them, nor who coordinates them.
"""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.brief_java import BRIEF
from tests.fetching import fetch_jars, fetched_once, sums_of
from tests.ports import free_port
from tests.source_tree import ROOT

HERE = Path(__file__).parent / "java"
BUILT = ROOT / "build" / "java-apps"
SESSION_MS = 12_000
TIMING = {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": 1000}
HELD_BACK_MS = 3000
"""How long Connect's leader waits for a lost worker to come back before it gives what it ran to others."""
_STRINGS = "org.apache.kafka.connect.storage.StringConverter"
_SERDE = "org.apache.kafka.common.serialization.Serdes$StringSerde"


@cache
def class_path() -> str:
    """What `java -cp` needs for Connect, Streams and the application."""

    def fetch() -> None:
        fetch_jars(HERE / "pom.xml", BUILT / "libs")
        compiled = ["javac", "-d", str(BUILT / "classes"), "-cp", f"{BUILT}/libs/*", str(HERE / "Counter.java")]
        subprocess.run(compiled, check=True)

    fetched_once(BUILT, [HERE / "pom.xml", sums_of(HERE / "pom.xml"), HERE / "Counter.java"], fetch)
    return f"{BUILT}/classes:{BUILT}/libs/*"


class App:
    """A Java process that keeps its words in a file."""

    def __init__(self, log: Path, *words: str) -> None:
        self._log = log
        java = ["java", *BRIEF, "-Xmx256m", "-cp", class_path(), *words]
        with log.open("a") as out:
            self._process = subprocess.Popen(java, stdout=out, stderr=subprocess.STDOUT)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def last_words(self) -> str:
        return self._log.read_text()[-3000:]

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()


class ConnectWorker(App):
    """A worker in distributed mode; its REST interface listens on this machine alone."""

    def __init__(self, folder: Path, bootstrap: str, name: str, group: str) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        settings = folder / f"{name}.properties"
        settings.write_text(_lines(_worker_settings(bootstrap, name, group, self.address)))
        cli = "org.apache.kafka.connect.cli.ConnectDistributed"
        super().__init__(folder / f"{name}.log", cli, str(settings))

    def configure(self, connector: str, config: Mapping[str, str]) -> bool:
        """Makes a connector, or changes it; False: the worker cannot do it yet."""
        return self._ask(f"/connectors/{connector}/config", config) is not None

    def tasks(self, connector: str) -> list[tuple[str, str]]:
        """State and worker of each task."""
        status = self._ask(f"/connectors/{connector}/status")
        return [(task["state"], task["worker_id"]) for task in status["tasks"]] if status else []

    def _ask(self, path: str, body: Mapping[str, str] | None = None) -> Any:
        request = urllib.request.Request(f"http://{self.address}{path}", method="GET" if body is None else "PUT")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None


class Counter(App):
    """An instance of the application that counts records by key."""

    def __init__(self, folder: Path, bootstrap: str, name: str, group: str) -> None:
        settings = {
            "bootstrap.servers": bootstrap,
            "application.id": group,
            "client.id": name,
            "state.dir": folder / f"{name}-state",
            "num.standby.replicas": 1,
            "commit.interval.ms": 200,
            "default.key.serde": _SERDE,
            "default.value.serde": _SERDE,
            **{f"main.consumer.{key}": value for key, value in TIMING.items()},
            "main.consumer.auto.offset.reset": "earliest",
        }
        super().__init__(folder / f"{name}.log", "Counter", *(f"{key}={value}" for key, value in settings.items()))


def kill_all(apps: Iterable[App]) -> None:
    """Kills those that still run."""
    for app in apps:
        app.kill()


def _worker_settings(bootstrap: str, name: str, group: str, address: str) -> dict[str, object]:
    own_topics = {f"{kind}.storage.topic": f"{group}-{kind}" for kind in ("config", "offset", "status")}
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "client.id": name,
        "listeners": f"http://{address}",
        "key.converter": _STRINGS,
        "value.converter": _STRINGS,
        "plugin.discovery": "service_load",
        **own_topics,
        **{key.replace(".topic", ".replication.factor"): 1 for key in own_topics},
        "offset.storage.partitions": 1,
        "status.storage.partitions": 1,
        "offset.flush.interval.ms": 1000,
        "scheduled.rebalance.max.delay.ms": HELD_BACK_MS,
        **TIMING,
        **{f"consumer.{key}": value for key, value in TIMING.items()},
    }


def _lines(settings: Mapping[str, object]) -> str:
    return "".join(f"{key}={value}\n" for key, value in settings.items())
