"""A shadow whose clock goes on with each of its steps, and stands in between. Must not know what is followed."""

from __future__ import annotations

from rollcall.inputs.following.following import Following

LONG_S = 60.0


class Ticks:
    def __init__(self, step_s: float) -> None:
        self.step_s, self.at_s = step_s, 0.0

    def __call__(self) -> float:
        return self.at_s


class Stepped(Following):
    def step(self) -> bool:
        assert isinstance(self._clock, Ticks)
        self._clock.at_s += self._clock.step_s
        return super().step()


def finish(following: Following, steps: int = 10) -> None:
    """The log stands still for long."""
    assert isinstance(following._clock, Ticks)
    while following.step():
        pass
    following._clock.step_s = LONG_S
    for _ in range(steps):
        following.step()
    following.finish()
