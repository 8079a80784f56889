"""What Prometheus, a health check and a receiver of alarms learn of a gateway and of the Spark job behind it."""

from __future__ import annotations

import json
import urllib.request

from rollcall.serve.listeners.addresses import Address
from tests.gateway.running import asynchronous
from tests.gateway.wire_client import alone_in
from tests.peers_job.conftest import Running
from tests.ports import free_port
from tests.waiting import until
from tests.wire_client import Client

SESSION_MS = 20_000


@asynchronous
async def test_requests_groups_rebalances_and_the_last_batch_are_reported(running: Running) -> None:
    place = Address("127.0.0.1", free_port())
    # A library's consumer may find its way to any gateway of the home.
    with running.job.another_gateway(metrics=str(place)) as gateway:
        client = await Client.connect(gateway)
        await alone_in(client, "measured")
        with urllib.request.urlopen(f"http://{place}/metrics") as answer:
            figures = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")
        with urllib.request.urlopen(f"http://{place}/health") as answer:
            health = json.loads(answer.read())
    assert float(figures['rollcall_gateway_request_seconds_count{api="JoinGroup"}']) >= 1
    assert float(figures['rollcall_gateway_request_seconds_sum{api="JoinGroup"}']) > 0
    assert float(figures['rollcall_gateway_groups{state="Stable"}']) >= 1
    assert float(figures['rollcall_gateway_rebalances_total{cause="member_joined"}']) >= 1
    assert float(figures["rollcall_gateway_connections"]) >= 1
    assert "rollcall_gateway_backlog" in figures
    assert 0 < float(figures["rollcall_gateway_last_batch_age_seconds"]) < 30
    assert (health["status"], health["connections"] > 0) == ("ok", True)


def test_the_job_serves_its_groups_and_reports_a_member_that_fell_silent(running: Running) -> None:
    @asynchronous
    async def join_and_fall_silent() -> None:
        client = await Client.connect(running.gateway)
        await alone_in(client, "falls silent", session_timeout_ms=SESSION_MS)
        client.close()

    join_and_fall_silent()

    def metrics() -> str:
        with urllib.request.urlopen(f"http://{running.metrics}/metrics") as answer:
            return bytes(answer.read()).decode()

    def alarms() -> list[dict[str, str]]:
        lines = running.alarms.read_text().splitlines() if running.alarms.exists() else []
        return [one for one in map(json.loads, lines) if one["group"] == "falls silent"]

    joined = 'rollcall_group_rebalances_total{cause="member_joined",group="falls silent"} 1.0'
    until(lambda: joined in metrics(), metrics, every_s=0.5)
    until(alarms, "an alarm is sent", every_s=0.5)
    (reported,) = alarms()
    assert (reported["event"], reported["kind"], reported["severity"]) == ("opened", "members_removed", "warning")
    assert "sent no heartbeat within its session timeout" in reported["why"]
    expired = 'rollcall_group_expired_members_total{group="falls silent"} 1.0'
    until(lambda: expired in metrics(), metrics, every_s=0.5)
    until(lambda: 'kafka_consumergroup_members{consumergroup="falls silent"} 0.0' in metrics(), metrics, every_s=0.5)
    assert "rollcall_job_batch_seconds_count" in metrics()
