"""The daemon of Spark's Python workers: how a task's socket answers."""

from __future__ import annotations

import socket
import sys

import pytest

from rollcall.jobs.spark.daemon import without_waits


@pytest.mark.skipif(sys.platform != "linux", reason="TCP_QUICKACK is Linux's")
def test_neither_side_of_a_tasks_socket_waits_for_an_acknowledgement() -> None:
    options = (socket.TCP_QUICKACK, socket.TCP_NODELAY)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as connection:
        for option in options:
            connection.setsockopt(socket.IPPROTO_TCP, option, 0)
        served = without_waits(lambda served, _: served, connection, True)
        assert [served.getsockopt(socket.IPPROTO_TCP, option) for option in options] == [1, 1]


def test_a_socket_of_a_file_is_served_as_it_is() -> None:
    connection, jvm = socket.socketpair()
    with connection, jvm:
        assert without_waits(lambda served, is_known: (served, is_known), connection, False) == (connection, False)
