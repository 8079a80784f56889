"""Which inputs are attacked, by name. An input that comes later is one more line here. Knows names alone."""

from __future__ import annotations

from collections.abc import Callable

from tests.attack.alarms import HostileAlarms
from tests.attack.attacked import Attacked
from tests.attack.conversations import Conversations
from tests.attack.dumps import OffsetDumps
from tests.attack.frames import Frames
from tests.attack.logs import LogLines, WholeLogs
from tests.attack.metrics import Metrics
from tests.attack.printed import PrintedLines
from tests.attack.sockets import Sockets
from tests.attack.texts import RequestRows, TraceLines
from tests.attack.upstream import Upstream

INPUTS: dict[str, Callable[[], Attacked]] = {
    "alarms": HostileAlarms,
    "conversations": Conversations,
    "frames": Frames,
    "log-lines": LogLines,
    "metrics": Metrics,
    "offset-dumps": OffsetDumps,
    "printed-lines": PrintedLines,
    "request-rows": RequestRows,
    "sockets": Sockets,
    "trace-lines": TraceLines,
    "upstream": Upstream,
    "whole-logs": WholeLogs,
}
