"""The page's server ends what it has begun: a stream of events is whole when the server stops."""

from __future__ import annotations

import queue
import threading
import urllib.request
from pathlib import Path

from page.serving import PageServer
from page.settings import settings_of
from tests.views.histories import two_members
from tests.views.story import write_effects


def test_a_stream_of_events_is_whole_when_the_server_stops(tmp_path: Path) -> None:
    write_effects(tmp_path, {"two": two_members().rows})
    server = PageServer(tmp_path, "a home", settings_of("127.0.0.1:0", {}))
    addresses: queue.Queue[str] = queue.Queue()
    serving = threading.Thread(target=server.run, args=(addresses.put,))
    serving.start()
    try:
        with urllib.request.urlopen(f"{addresses.get(timeout=30)}events", timeout=30) as stream:
            assert stream.readline() == b"retry: 2000\n"
            server.stop()
            # Raises IncompleteRead of a stream that is broken off.
            stream.read()
    finally:
        server.stop()
        serving.join(30)
    assert not serving.is_alive()
