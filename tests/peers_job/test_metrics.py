"""What Prometheus and a health check are told of a gateway before the Spark job."""

from __future__ import annotations

import json
import socket
import urllib.request

from gateway.settings import Address
from tests.gateway.running import asynchronous
from tests.gateway.wire_client import Client, alone_in
from tests.peers_job.conftest import Running


@asynchronous
async def test_requests_groups_rebalances_and_the_last_batch_are_told(running: Running) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = Address("127.0.0.1", free.getsockname()[1])
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
