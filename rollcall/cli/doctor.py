"""`rollcall doctor`: what this machine and a cluster lack for Rollcall, with a sentence that says what to do.

Knows the checks and their order. Must not know how a program starts, or what it does.
"""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient  # type: ignore[attr-defined]

from rollcall.answers.sql.engine import ask
from rollcall.history.words import count
from rollcall.inputs.offsets_topic import TOPIC
from rollcall.jobs.spark.jars import IS_CHECKOUT, JARS_FOLDER, missing_jars
from rollcall.programs.errors import ConfigError, UserError
from rollcall.programs.kafka_options import client_settings
from rollcall.programs.preflight import JAVA_NEEDED, check_java, check_python, find_java
from rollcall.schemas.tables import EFFECTS
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.listeners.addresses import Address, refuse_unusable
from rollcall.serve.page.settings import DEFAULT_ADDRESS
from rollcall.tables.home import Home
from rollcall.tables.versions import is_table

FREE_BYTES = 2_000_000_000
"""A set-up takes 1.3 GB, a busy day's history some hundred MB."""
WITHIN_S = 10.0
AHEAD_MS = 60_000


class Finding(NamedTuple):
    """The result of one check."""

    what: str
    is_fine: bool
    sentence: str


def findings(home: Home, kafka: Mapping[str, str]) -> Iterator[Finding]:
    """Runs all checks. kafka: settings `kafka.*` of the cluster to check; empty: none."""
    checks: list[tuple[str, Callable[[], str]]] = [
        ("Python", _python),
        ("Java", _java),
        ("JARs", _jars),
        ("home", lambda: _home(home)),
        ("disk", lambda: _disk(home)),
        ("clock", lambda: _clock(home)),
        ("port of the gateway", lambda: _port(home, Settings().listen, "--listen", "the gateway")),
        ("port of the page", lambda: _port(home, DEFAULT_ADDRESS, "--page", "the page")),
    ]
    if kafka:
        checks += [("cluster", lambda: _cluster(kafka)), (TOPIC, lambda: _offsets_topic(kafka))]
    for what, check in checks:
        try:
            yield Finding(what, True, check())
        except UserError as error:
            yield Finding(what, False, str(error.args[0]))


def kafka_settings(cluster: str, conf: Path | None) -> dict[str, str]:
    """The settings `kafka.*` with which a cluster would be followed; empty without a cluster. Raises ConfigError."""
    if not cluster:
        return {}
    # Imported here: it takes a second.
    from rollcall.cli.shadow.topic import topic_config

    return dict(topic_config(cluster, conf).kafka_options)


def answer_doctor(home: Home, kafka: Mapping[str, str]) -> int:
    """Prints a line for each check; returns 1 if one failed, otherwise 0."""
    found = []
    for finding in findings(home, kafka):
        print(f"{'ok  ' if finding.is_fine else 'FAIL'}  {finding.what}: {finding.sentence}", flush=True)
        found.append(finding)
    return 0 if all(finding.is_fine for finding in found) else 1


def _python() -> str:
    check_python()
    return f"{platform.python_version()} is supported."


def _java() -> str:
    check_java()
    return f"{find_java(os.environ)} is version {JAVA_NEEDED} or newer."


def _jars() -> str:
    missing = missing_jars()
    if missing and not IS_CHECKOUT:
        return f"Spark fetches Delta's into {JARS_FOLDER} at its first start."
    if missing:
        raise UserError(
            f"{missing[0]} is missing in {JARS_FOLDER}: run `make jars`. Only commands that start Spark need it."
        )
    return f"Delta's are in {JARS_FOLDER}."


def _home(home: Home) -> str:
    if not home.is_local:
        return f"not checked, since {home.shown} is in an object store; `rollcall sql --home {home.shown}` reads it."
    folder = _there(home)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"this user cannot write to {folder}: change its owner, or choose another home with --home.")
    if folder != home.path:
        return f"{home.shown} does not exist yet and can be created."
    worker = home.worker()
    return f"{home.shown} is writable; {worker or 'no program'} is using it."


def _there(home: Home) -> Path:
    """The home's folder, or its nearest parent that exists."""
    return next(folder for folder in (home.path, *home.path.parents) if folder.is_dir())


def _disk(home: Home) -> str:
    if not home.is_local:
        return f"not checked, since {home.shown} is in an object store."
    free = shutil.disk_usage(_there(home)).free
    shown = f"{free / 1e9:.1f} GB free for {home.shown}"
    if free < FREE_BYTES:
        raise UserError(f"only {shown}: `rollcall maintain` removes expired rows.")
    return f"{shown}."


def _clock(home: Home) -> str:
    if not home.is_local or not is_table(home.path / EFFECTS.name):
        return f"not checked, since {home.shown} has no history on this disk."
    ((fact_at_ms,),) = ask(home.path, "SELECT max(at_ms) FROM effects", is_duckdbs=True).rows
    if fact_at_ms is not None and fact_at_ms > time.time() * 1000 + AHEAD_MS:
        raise UserError(f"{home.shown} has facts from the future: set this machine's clock, or the broker's.")
    return f"no fact in {home.shown} is from the future."


def _port(home: Home, address: Address, another: str, who: str) -> str:
    try:
        refuse_unusable(address, another, who)
    except ConfigError:
        worker = home.worker() if home.is_local else ""
        if not worker:
            raise
        return f"{address} is in use, probably by {worker}, which serves {who}."
    return f"{address} is free."


def _asked(kafka: Mapping[str, str]) -> AdminClient:
    return AdminClient({**client_settings(kafka), "log_level": "0"})


def _cluster(kafka: Mapping[str, str]) -> str:
    servers = kafka["kafka.bootstrap.servers"]
    try:
        found = _asked(kafka).list_topics(timeout=WITHIN_S)
    except (KafkaException, ConfigError) as error:
        raise UserError(
            f"{servers} does not answer ({_reason(error)}): check the address, the network, and kafka.security.*."
        ) from None
    return f"{servers} answers, with {count(len(found.brokers), 'broker')}."


def _offsets_topic(kafka: Mapping[str, str]) -> str:
    try:
        # The client lives until its answers are there.
        admin = _asked(kafka)
        asked = admin.describe_topics(
            TopicCollection([TOPIC]), include_authorized_operations=True, request_timeout=WITHIN_S
        )
        rights = set(asked[TOPIC].result().authorized_operations or ())
    except (KafkaException, ConfigError) as error:
        raise UserError(
            f"it cannot be described ({_reason(error)}): this user needs DESCRIBE and READ on it."
        ) from None
    lacking = [right.name for right in (AclOperation.DESCRIBE, AclOperation.READ) if right not in rights]
    if lacking:
        raise UserError(f"this user cannot follow it: grant {' and '.join(lacking)} on it.")
    return "this user can read it."


def _reason(error: Exception) -> str:
    return str(error.args[0].str()) if isinstance(error, KafkaException) else str(error)
