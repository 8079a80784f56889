"""Kafka's own Java client and tools: fetched by Maven once into build/java-clients, the worker compiled beside them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from tests.brief_java import BRIEF
from tests.fetching import fetch_jars, fetched_once, sums_of

HERE = Path(__file__).parent / "java"
BUILT = Path(__file__).parents[2] / "build" / "java-clients"


@cache
def class_path() -> str:
    """What `java -cp` needs for the client, the tools and the worker."""

    def fetch() -> None:
        fetch_jars(HERE / "pom.xml", BUILT / "libs")
        _run(["javac", "-d", str(BUILT / "classes"), "-cp", f"{BUILT}/libs/*", str(HERE / "Worker.java")])

    fetched_once(BUILT, [HERE / "pom.xml", sums_of(HERE / "pom.xml"), HERE / "Worker.java"], fetch)
    return f"{BUILT}/classes:{BUILT}/libs/*"


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True)


def tool(name: str, *words: str, timeout_s: float = 60.0) -> str:
    """What a class of Kafka's tools prints, both streams together."""
    command = ["java", *BRIEF, "-Xmx256m", "-cp", class_path(), name, *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout_s)
    return done.stdout


def configs(bootstrap: str, *words: str) -> str:
    """What kafka-configs.sh prints."""
    return tool("org.apache.kafka.tools.ConfigCommand", "--bootstrap-server", bootstrap, *words)


def consumer_groups(bootstrap: str, *words: str) -> str:
    """What kafka-consumer-groups.sh prints."""
    return tool("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--bootstrap-server", bootstrap, *words)
