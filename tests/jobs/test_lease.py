"""One job a home in an object store: who gets it, who is refused and because of whom, and when the dead give way."""

from __future__ import annotations

import os
import subprocess
import sys
from ast import literal_eval
from collections.abc import Callable

import msgspec
import pytest

from rollcall.tables.home import HomeError
from rollcall.tables.lease import DEAD_AFTER_S, LOOK_EVERY_S, PATIENCE_S, Holder, Lease, TakenOverError, take_lease
from tests.waiting import until

HOME = "s3a://bucket/rollcall"


class Files:
    """A store's folder, in which something may happen before each thing that is asked of it."""

    def __init__(self, before: Callable[[int], None] = lambda nth: None) -> None:
        self.texts: dict[str, str] = {}
        self.times: dict[str, int] = {}
        self.before = before
        self.asked = 0

    def _step(self) -> None:
        self.asked += 1
        self.before(self.asked)

    def changed_at(self) -> dict[str, int]:
        self._step()
        return dict(self.times)

    def read(self, name: str) -> str:
        self._step()
        return self.texts.get(name, "")

    def write(self, name: str, text: str) -> None:
        self._step()
        self.texts[name] = text
        self.times[name] = self.times.get(name, 0) + 1

    def delete(self, name: str) -> None:
        self._step()
        self.texts.pop(name, None)
        self.times.pop(name, None)


def holder(who: str = "the coordinator", **changes: object) -> str:
    """The text of a holder of another machine, that nobody here can look at."""
    elsewhere = {"host": "node-7", "process": 4711, "where": "another system", "since_ms": 1}
    return msgspec.json.encode({"who": who, **elsewhere, **changes}).decode()


def never(seconds: float) -> None:
    raise AssertionError("nobody has to be waited for")


class Watch:
    """Lets time pass in no time. at: what happens after this many seconds."""

    def __init__(self, at: dict[float, Callable[[], object]] | None = None) -> None:
        self.passed_s = 0.0
        self.at = at or {}

    def __call__(self, seconds: float) -> None:
        self.passed_s += seconds
        self.at.pop(self.passed_s, lambda: None)()


def test_a_free_home_is_taken_at_once_and_again_after_its_release() -> None:
    files = Files()
    first = take_lease(files, "the coordinator", HOME, never)
    assert [name.partition("-")[0] for name in files.times] == ["00000001"]
    first.check()
    first.release()
    assert files.times == {}
    take_lease(files, "the coordinator", HOME, never).check()


def test_a_home_whose_holder_lives_is_refused_by_name_as_soon_as_it_stirs() -> None:
    files = Files()
    files.write("00000007-a", holder())
    watch = Watch({5.0: lambda: files.write("00000007-a", holder())})
    with pytest.raises(HomeError) as refused:
        take_lease(files, "the coordinator", HOME, watch)
    assert str(refused.value) == (
        f"{HOME} is in use by the coordinator (process 4711 on node-7): stop it, or name another home."
    )
    assert watch.passed_s == 5.0
    assert list(files.times) == ["00000007-a"]


def test_a_holder_that_is_silent_gives_way_and_writes_no_more_when_it_wakes() -> None:
    files = Files()
    asleep = take_lease(files, "the coordinator", HOME, never)
    (old,) = files.times
    files.texts[old] = holder()
    watch = Watch()
    take_lease(files, "the coordinator", HOME, watch).check()
    assert DEAD_AFTER_S <= watch.passed_s <= DEAD_AFTER_S + LOOK_EVERY_S
    assert [name.partition("-")[0] for name in files.times] == ["00000002"]
    with pytest.raises(TakenOverError, match=r"bucket/rollcall was taken over by the coordinator \(process \d+ on "):
        asleep.check()


def test_a_holder_that_is_released_while_it_is_watched_gives_way_at_once() -> None:
    files = Files()
    files.write("00000007-a", holder())
    watch = Watch({3.0: lambda: files.delete("00000007-a")})
    take_lease(files, "maintenance", HOME, watch)
    assert watch.passed_s == 3.0


def test_a_killed_process_of_this_machine_is_not_waited_for() -> None:
    program = (
        "import msgspec; from rollcall.tables.lease import Holder; "
        "print(msgspec.json.encode(Holder.of_this_process('x')))"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    reported: str = literal_eval(printed).decode()
    assert msgspec.json.decode(reported, type=Holder).is_gone
    assert not Holder.of_this_process("x").is_gone
    alive = msgspec.structs.replace(Holder.of_this_process("x"), process=os.getppid())
    assert not alive.is_gone
    assert not msgspec.json.decode(holder(), type=Holder).is_gone
    files = Files()
    files.write("00000007-a", reported)
    take_lease(files, "the coordinator", HOME, never)


def test_a_file_that_nobody_can_read_is_watched_like_any_other() -> None:
    files = Files()
    files.write("00000007-a", "not JSON")
    with pytest.raises(HomeError, match="is in use by another job"):
        take_lease(files, "x", HOME, Watch({2.0: lambda: files.write("00000007-a", "")}))
    watch = Watch()
    take_lease(files, "x", HOME, watch)
    assert watch.passed_s >= DEAD_AFTER_S


@pytest.mark.parametrize("moment", range(1, 8))
def test_of_two_that_want_a_home_at_once_at_most_one_gets_it_whenever_the_second_comes(moment: int) -> None:
    held: list[Lease] = []
    refused: list[str] = []

    def want(name: str) -> None:
        try:
            held.append(take_lease(files, name, HOME, Watch()))
        except HomeError as error:
            refused.append(str(error))

    def other(nth: int) -> None:
        if nth == moment:
            want("the second")

    files = Files(other)
    want("the first")
    assert len(held) + len(refused) in (1, 2)
    alive = []
    for lease in held:
        try:
            lease.check()
            alive.append(lease)
        except TakenOverError:
            pass
    assert len(alive) <= 1
    if not alive:
        assert len(files.times) == 0
        take_lease(files, "a third", HOME, never).check()


def test_a_batch_waits_for_a_store_that_is_away_but_not_for_a_home_that_is_lost() -> None:
    away = [True]

    def maybe_away(nth: int) -> None:
        if away[0]:
            raise HomeError("the store does not answer")

    files = Files()
    lease = take_lease(files, "the coordinator", HOME, never)
    files.before = maybe_away
    watch = Watch({40.0: lambda: away.__setitem__(0, False)})
    lease.check_before_batch(watch)
    assert watch.passed_s == 40.0
    away[0] = True
    endless = Watch()
    with pytest.raises(HomeError, match="does not answer"):
        lease.check_before_batch(endless)
    assert endless.passed_s == PATIENCE_S
    away[0] = False
    files.write("00000002-b", holder("another"))
    with pytest.raises(TakenOverError):
        lease.check_before_batch(never)


def test_who_withdraws_does_not_disturb_the_holder() -> None:
    files = Files()
    lease = take_lease(files, "the coordinator", HOME, never)
    files.write("00000001-late", holder("a second"))
    lease.check()


def test_a_holder_renews_its_lease_until_it_is_released_or_lost() -> None:
    files = Files()
    lease = take_lease(files, "the coordinator", HOME, never)
    lease.keep(0.01)
    (own,) = files.times
    until(lambda: files.times[own] > 3, "renewals")
    lease.release()
    assert files.times == {}

    lost = take_lease(files, "the coordinator", HOME, never)
    lost.keep(0.01)
    files.write("00000002-b", holder("another"))
    until(lambda: not lost.is_kept, "the loss to be seen")


def test_a_store_that_is_away_for_a_while_costs_nobody_the_home() -> None:
    away = True

    def maybe_away(nth: int) -> None:
        if away:
            raise HomeError("the store does not answer")

    files = Files()
    lease = take_lease(files, "the coordinator", HOME, never)
    (own,) = files.times
    files.before = maybe_away
    lease.keep(0.01)
    asked = files.asked
    until(lambda: files.asked > asked + 3, "tries")
    with pytest.raises(HomeError, match="does not answer"):
        lease.check()
    away = False
    renewed = files.times[own]
    until(lambda: files.times[own] > renewed, "renewals")
    lease.check()
    lease.release()


def test_a_lease_is_renewed_again_after_an_error_that_nobody_foresaw() -> None:
    files = Files()
    lease = take_lease(files, "the coordinator", HOME, never)
    write, written = files.write, list[str]()

    def breaks_once(name: str, text: str) -> None:
        written.append(name)
        if len(written) == 1:
            raise ZeroDivisionError("not foreseen")
        write(name, text)

    files.write = breaks_once  # type: ignore[method-assign]
    lease.keep(0.001)
    until(lambda: len(written) > 2, lambda: str(written))
    assert lease.is_kept
    lease.release()
