"""The demo's members as threads of one process."""

from __future__ import annotations

import threading

import pytest
from kafka.protocol.schemas.fields import StructField

from jobs.run.demo_fleet import compile_one_at_a_time


def test_codecs_are_compiled_by_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once left a JoinGroup's answer that no member of the process could read."""
    inside, together = threading.Semaphore(1), threading.Event()

    def compiled(*_: object) -> None:
        if not inside.acquire(blocking=False):
            together.set()
            return
        together.wait(0.3)
        inside.release()

    monkeypatch.setattr(StructField, "compiled_decode_from", compiled)
    monkeypatch.setattr(StructField, "compiled_encode_into", compiled)
    compile_one_at_a_time()
    threads = [threading.Thread(target=StructField.compiled_decode_from, args=(None,)) for _ in range(2)]
    threads.append(threading.Thread(target=StructField.compiled_encode_into, args=(None,)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not together.is_set()
