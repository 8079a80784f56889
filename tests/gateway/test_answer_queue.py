"""Answers in the order of their requests; and nothing once the connection has ended."""

from __future__ import annotations

from rollcall.serve.gateway.answer_queue import AnswerQueue


def test_answers_are_sent_in_the_order_of_their_requests() -> None:
    sent: list[bytes] = []
    queue = AnswerQueue(lambda: 0.0, sent.append)
    first, second = queue.line_up("Heartbeat", 10), queue.line_up("Heartbeat", 20)
    queue.fill(second, b"2")
    assert (sent, queue.asked_bytes) == ([], 30)
    queue.fill(first, b"1")
    assert (sent, queue.asked_bytes, len(queue)) == ([b"1", b"2"], 0, 0)


def test_an_answer_whose_end_comes_after_the_connections_is_nothing() -> None:
    sent: list[bytes] = []
    queue = AnswerQueue(lambda: 0.0, sent.append)
    first, second = queue.line_up("(upstream)", 0), queue.line_up("Heartbeat", 20)
    queue.close()
    queue.first_is_sent()
    queue.fill(second, b"2")
    assert not queue.is_first(first)
    assert sent == []
