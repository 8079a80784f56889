"""Small histories with literal times, each a group of its own; every client's session is 10 s unless it says otherwise.

Knows what clients do. What the views make of it stands in the tests.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from tests.views.story import Story, one_member


def two_members(name: str = "two") -> Story:
    """a is alone in generation 1; b comes at 3 s, and both are in generation 2 from 3.2 s on. Eager."""
    story = one_member(name, ["t-0", "t-1"])
    story.heartbeat(2000, "a")
    story.join(3000, "b")
    story.join(3100, "a")
    story.sync(3200, "a", {"a": ["t-0"], "b": ["t-1"]})
    story.sync(3300, "b")
    return story


def one_leaves() -> Story:
    """b leaves at 4 s and says why."""
    story = two_members("left")
    story.leave(4000, "b", reason="shutting down")
    story.join(4100, "a")
    story.sync(4200, "a", {"a": ["t-0", "t-1"]})
    return story


def one_expires() -> Story:
    """b is silent from 3.3 s on. Its timer ran anew at 3.1 s, so its session ends at 13.1 s."""
    story = two_members("expired")
    for at_ms in (6000, 9000, 12_000):
        story.heartbeat(at_ms, "a")
    story.let_time_pass(13_100)
    story.join(14_000, "a")
    story.sync(14_100, "a", {"a": ["t-0", "t-1"]})
    return story


def static_member_returns() -> Story:
    """a, instance i-1 and leader, starts anew at 3 s: no rebalance, another member id."""
    story = one_member("static", ["t-0", "t-1"], instance_id="i-1")
    story.join(3000, "a", instance_id="i-1", again_as="")
    story.sync(3050, "a")
    return story


def cooperative() -> Story:
    """b comes at 2 s; a keeps t-0 throughout and gives t-1 up in generation 2, for b to get it in generation 3."""
    story = one_member("cooperative", ["t-0", "t-1"], protocol="cooperative-sticky")
    story.join(2000, "b", protocol="cooperative-sticky")
    story.join(2100, "a", protocol="cooperative-sticky", owned=["t-0", "t-1"])
    story.sync(2200, "a", {"a": ["t-0"], "b": []})
    story.sync(2210, "b")
    story.join(2300, "a", protocol="cooperative-sticky", owned=["t-0"])
    story.join(2400, "b", protocol="cooperative-sticky")
    story.sync(2500, "a", {"a": ["t-0"], "b": ["t-1"]})
    story.sync(2510, "b")
    return story


def deleted(name: str = "deleted") -> Story:
    """a commits, leaves, and the group is deleted."""
    story = one_member(name)
    story.commit(1500, "a", {"t-0": 7})
    story.leave(2000, "a")
    story.delete(3000)
    return story


def recreated() -> Story:
    """A deleted group begins anew with b, in the very millisecond."""
    story = deleted("recreated")
    story.join(3000, "b")
    story.sync(3100, "b", {"b": ["t-0"]})
    return story


def superseded() -> Story:
    """c comes while the leader's assignment for b's rebalance is awaited."""
    story = one_member("superseded")
    story.join(2000, "b")
    story.join(2100, "a")
    story.join(2200, "c")
    story.join(2300, "a")
    story.join(2400, "b")
    story.sync(2500, "a", {"a": ["t-0"], "b": ["t-1"], "c": ["t-2"]})
    story.sync(2600, "b")
    story.sync(2600, "c")
    return story


def no_members() -> Story:
    """A program that assigns its own partitions commits to a group that nobody joins."""
    story = Story("no members")
    story.commit(1000, "cron", {"t-0": 5, "t-1": 6}, generation_id=-1)
    story.commit(2000, "cron", {"t-0": 9}, generation_id=-1)
    story.delete_offsets(3000, "t-1")
    return story


def rebalancing() -> Story:
    """c comes at 5 s, b has joined again, a is awaited."""
    story = two_members("rebalancing")
    story.join(5000, "c")
    story.join(5100, "b")
    return story


def syncing() -> Story:
    """b has sent its SyncGroup, the leader a has not."""
    story = one_member("syncing")
    story.join(2000, "b", rebalance_timeout_ms=4000)
    story.join(2100, "a", rebalance_timeout_ms=4000)
    story.sync(2200, "b")
    return story


def static_member_replaced_while_joining() -> Story:
    """b, instance i-1, starts anew at 3 s while c's rebalance awaits it, and sends no SyncGroup after the others."""
    story = _with_static_member("static joining")
    story.join(2900, "c", rebalance_timeout_ms=4000)
    story.join(3000, "b", instance_id="i-1", again_as="", rebalance_timeout_ms=4000)
    story.join(3100, "a", rebalance_timeout_ms=4000)
    story.sync(3200, "a", {"a": ["t-0"], "b": ["t-1"], "c": []})
    story.sync(3300, "c")
    return story


def static_member_replaced_before_its_sync() -> Story:
    """b, instance i-1, starts anew in a Stable group at 3 s, and has sent no SyncGroup under its old id."""
    story = _with_static_member("static unsynced", syncs=False)
    story.join(3000, "b", instance_id="i-1", again_as="", rebalance_timeout_ms=4000)
    story.sync(3100, "b")
    return story


def static_member_replaced_after_its_sync() -> Story:
    """b, instance i-1, starts anew in a Stable group at 3 s, and has sent its SyncGroup under its old id."""
    story = _with_static_member("static synced")
    story.join(3000, "b", instance_id="i-1", again_as="", rebalance_timeout_ms=4000)
    return story


def _with_static_member(name: str, *, syncs: bool = True) -> Story:
    """a and b, instance i-1, form generation 2 at 2.1 s, which is Stable at 2.2 s; 4 s to rejoin."""
    story = one_member(name)
    story.join(2000, "b", instance_id="i-1", rebalance_timeout_ms=4000)
    story.join(2100, "a", rebalance_timeout_ms=4000)
    story.sync(2200, "a", {"a": ["t-0"], "b": ["t-1"]})
    if syncs:
        story.sync(2300, "b")
    return story


def id_given() -> Story:
    """d was given an id at 2 s, good for 8 s, and has not come back."""
    story = one_member("id given")
    story.ask_to_join(2000, "d", request_id="d asks at 2000", session_timeout_ms=8000)
    return story


def subscription_changed() -> Story:
    """a joins again at 2 s with one more topic and a longer session."""
    story = one_member("changed")
    story.join(2000, "a", topics=("u", "t"), session_timeout_ms=20_000, reason="metadata has changed")
    story.sync(2100, "a", {"a": ["t-0", "u-10", "u-9"]})
    return story


def initial_delay() -> Story:
    """The first window of 3 s from 1 s on is followed by a second one, since b came."""
    story = Story("delayed", GroupConfig(group_initial_rebalance_delay_ms=3000))
    story.join(1000, "a")
    story.join(2000, "b")
    story.let_time_pass(5000)
    return story


def stories() -> list[Story]:
    """All of them but `replaced_static_members`."""
    return [
        two_members(),
        one_leaves(),
        one_expires(),
        static_member_returns(),
        cooperative(),
        deleted(),
        recreated(),
        superseded(),
        no_members(),
        rebalancing(),
        syncing(),
        id_given(),
        subscription_changed(),
        initial_delay(),
    ]


def replaced_static_members() -> list[Story]:
    """Those of one static member that starts anew at another moment of a generation each."""
    return [
        static_member_replaced_while_joining(),
        static_member_replaced_before_its_sync(),
        static_member_replaced_after_its_sync(),
    ]
