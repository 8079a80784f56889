"""Nothing is sent once the connection has ended; `test_connection` has the order of answers."""

from __future__ import annotations

from rollcall.serve.gateway.answering import AnswerQueue


def test_an_answer_whose_end_comes_after_the_connections_is_nothing() -> None:
    sent: list[bytes] = []
    queue = AnswerQueue(lambda: 0.0, sent.append)
    first, second = queue.line_up("(upstream)", 0), queue.line_up("Heartbeat", 20)
    queue.close()
    queue.first_is_sent()
    queue.fill(second, b"2")
    assert not queue.is_first(first)
    assert sent == []
