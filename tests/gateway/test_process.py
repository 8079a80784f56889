"""The gateway as a process, and its port for metrics and health."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from rollcall.serve.gateway.__main__ import main
from rollcall.serve.gateway.backend import Figures
from rollcall.serve.gateway.metrics import Metrics
from rollcall.serve.listeners.addresses import Address
from rollcall.serve.listeners.monitor import Health, Monitor
from tests.gateway.running import asynchronous, gateway
from tests.gateway.wire_client import alone_in, beaten
from tests.waiting import until

ANY_PORT = "127.0.0.1:0"


def get(address: Address, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{address}{path}") as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


# ---------------------------------------------------------------- metrics and health


def test_silent_connections_neither_hold_threads_nor_keep_anybody_else_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = Monitor(Address("127.0.0.1", 0), Metrics(Figures), lambda: {"status": "ok"})
    before = threading.active_count()
    silent = [socket.create_connection(monitor.address) for _ in range(100)]
    try:
        assert get(monitor.address, "/health")[0] == 200
        until(lambda: threading.active_count() <= before + 16, "threads")
        later = time.monotonic() + 10
        monkeypatch.setattr("rollcall.serve.listeners.monitor.monotonic", lambda: later)
        for client in silent:
            client.settimeout(10)
            assert client.recv(1) == b""
        until(lambda: threading.active_count() <= before, "no threads")
    finally:
        monitor.close()
        for client in silent:
            client.close()


def test_an_answer_may_take_as_long_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def looked(_: object) -> None:
        nonlocal looks
        looks += 1

    def health() -> Health:
        later = time.monotonic() + 3_600
        monkeypatch.setattr("rollcall.serve.listeners.monitor.monotonic", lambda: later)
        seen = looks
        until(lambda: looks > seen + 1, "another look for overdue connections")
        return {"status": "ok"}

    monkeypatch.setattr("socketserver.BaseServer.service_actions", looked)
    monitor = Monitor(Address("127.0.0.1", 0), Metrics(Figures), health)
    try:
        assert get(monitor.address, "/health")[0] == 200
    finally:
        monitor.close()


@asynchronous
async def test_requests_connections_and_groups_are_counted() -> None:
    async with gateway({"gateway.metrics.listen": ANY_PORT}) as running:
        assert running.server.monitor is not None
        client, bad = await running.client(), await running.client()
        member, generation = await alone_in(client)
        for _ in range(3):
            await beaten(client, member, generation)
        bad.send_raw(b"GET / HTTP/1.1\r\n\r\n")
        assert await bad.is_closed_by_peer()
        status, text = await asyncio.to_thread(get, running.server.monitor.address, "/metrics")
        health = await asyncio.to_thread(get, running.server.monitor.address, "/health")
    lines = text.splitlines()
    assert status == 200
    assert 'rollcall_gateway_request_seconds_count{api="Heartbeat"} 3.0' in lines
    assert 'rollcall_gateway_request_seconds_bucket{api="Heartbeat",le="+Inf"} 3.0' in lines
    assert 'rollcall_gateway_groups{state="Stable"} 1.0' in lines
    assert 'rollcall_gateway_closed_connections_total{reason="frame"} 1.0' in lines
    assert "rollcall_gateway_connections 1.0" in lines
    assert (health[0], json.loads(health[1])["status"]) == (200, "ok")
    assert json.loads(health[1])["connections"] == 1


def test_a_bucket_holds_what_took_no_longer_than_it_says() -> None:
    metrics = Metrics(Figures)
    for seconds in (0.005, 0.0051, 0.02, 1000.0):
        metrics.latencies.add("Heartbeat", seconds)
    (family,) = metrics.latencies.collect()
    counts = {sample.labels.get("le"): sample.value for sample in family.samples if sample.name.endswith("_bucket")}
    assert [counts[le] for le in ("0.005", "0.01", "0.025", "300.0", "+Inf")] == [1, 2, 3, 3, 4]


def test_the_backends_figures_are_shown_when_asked_for() -> None:
    figures = Figures(
        backlog=3,
        parked=2,
        batch_age_s=1.5,
        groups_by_state={"Stable": 4},
        rebalances_by_cause={"member_left": 7},
        is_failing=True,
    )
    monitor = Monitor(Address("127.0.0.1", 0), Metrics(lambda: figures), lambda: {"status": "silent"})
    try:
        lines = get(monitor.address, "/metrics")[1].splitlines()
        assert get(monitor.address, "/health") == (503, '{"status": "silent"}\n')
        assert get(monitor.address, "/")[0] == 404
    finally:
        monitor.close()
    for line in (
        "backlog 3.0",
        "parked 2.0",
        "append_failing 1.0",
        "last_batch_age_seconds 1.5",
        'groups{state="Stable"} 4.0',
        'rebalances_total{cause="member_left"} 7.0',
    ):
        assert f"rollcall_gateway_{line}" in lines


# ---------------------------------------------------------------- the process


def start(home: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rollcall.serve.gateway", "--set", "gateway.metrics.listen=", *words]
    environment = {**os.environ, "ROLLCALL_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_and_ends_when_it_is_asked_to(number: int, tmp_path: Path) -> None:
    process = start(tmp_path, "--listen", ANY_PORT, "--topics", "t1:4")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("rollcall: the gateway listens on 127.0.0.1:")
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (0, "rollcall: the gateway has stopped.\n", "")


def test_an_address_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    first = start(tmp_path, "--listen", ANY_PORT)
    assert first.stdout is not None
    address = first.stdout.readline().split(" listens on ")[1].partition(";")[0]
    second = start(tmp_path, "--listen", address)
    _, err = second.communicate(timeout=120)
    assert second.returncode == 2
    assert err.startswith(
        f"rollcall: the gateway cannot start: nothing can listen on {address} (Address already in use)"
    )
    assert "--listen host:port" in err
    assert "Traceback" not in err
    first.terminate()
    first.communicate(timeout=120)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--set", "gateway.listen"], "--set gateway.listen: is not of the form key=value"),
        (["--listen", "nowhere"], "--listen nowhere: is not of the form host:port"),
        (["--listen", "0.0.0.0:0"], "others reach it and nobody has to authenticate"),
        (["--conf-file", "/nowhere"], "/nowhere: cannot be read: No such file or directory"),
        (["--topics", "t1", "--set", "topics=t2:4"], "--topics t1: 't1' is not of the form topic:partitions"),
        (["--home", "/proc/nowhere", "--listen", "127.0.0.1:0"], "the gateway cannot start: /proc/nowhere"),
        (["--home", "s3a://b/home", "--listen", "127.0.0.1:0"], "s3a://b/home takes its requests by Kafka: give "),
    ],
)
def test_what_a_person_can_put_right_is_one_sentence_and_status_2(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert why in err
    assert err.startswith("rollcall: ")
    assert err.count("\n") == 1


def test_a_file_of_settings_is_overridden_by_the_command_line(tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    conf.write_text(f"gateway.listen=127.0.0.1:1\ngroup.max.size=3\ntopics=t1:4\ngateway.users={tmp_path}/none\n")
    process = start(tmp_path, "--conf-file", str(conf), "--set", "gateway.users=", "--listen", ANY_PORT)
    assert process.stdout is not None
    assert "listens on 127.0.0.1:" in process.stdout.readline()
    process.terminate()
    process.communicate(timeout=120)
