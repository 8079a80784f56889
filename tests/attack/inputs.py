"""Which inputs are attacked, by name. An input that comes later is one more line here. Knows names alone."""

from __future__ import annotations

from collections.abc import Callable

from tests.attack.attacked import Attacked
from tests.attack.frames import Frames

INPUTS: dict[str, Callable[[], Attacked]] = {
    "frames": Frames,
}
