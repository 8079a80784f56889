"""Groups in trouble, in virtual time with literal moments: storms, flapping members, loops, deploys, a zombie."""

from __future__ import annotations

from typing import Any

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from tests.views.histories import one_expires
from tests.views.story import Story

MINUTE_MS = 60_000
PATIENT: dict[str, Any] = {"session_timeout_ms": 240 * MINUTE_MS}
AT_ONCE = GroupConfig(group_initial_rebalance_delay_ms=0, group_max_session_timeout_ms=240 * MINUTE_MS)


def with_members(name: str, *whos: str, at_ms: int = 1000, **terms: Any) -> Story:
    """Everybody is in the latest generation; each holds the partition of its place."""
    story = Story(name, AT_ONCE)
    for who in whos:
        story.join(at_ms, who, **terms)
    gather(story, at_ms + 100, *whos, **terms)
    return story


def gather(story: Story, at_ms: int, *whos: str, **terms: Any) -> None:
    """Everybody joins again where the group waits for that, and then has the partition of its place."""
    if story.state is not None and story.state.state == "PreparingRebalance":
        for who in whos:
            story.join(at_ms, who, **terms)
    story.sync(at_ms + 10, whos[0], {who: [f"t-{place}"] for place, who in enumerate(whos)})
    for who in whos[1:]:
        story.sync(at_ms + 10, who)


def goes_and_comes(story: Story, at_ms: int, who: str, *others: str, away_ms: int = 1000, **terms: Any) -> None:
    """One member leaves, the others settle; it comes back, and all settle."""
    story.leave(at_ms, who)
    gather(story, at_ms + 100, *others, **terms)
    story.join(at_ms + away_ms, who, again_as="", **terms)
    gather(story, at_ms + away_ms + 100, *others, who, **terms)


def storm(name: str, every_ms: int, times: int) -> Story:
    story = with_members(name, "a", "b", **PATIENT)
    for turn in range(times):
        goes_and_comes(story, (turn + 1) * every_ms, "b", "a", **PATIENT)
    return story


def two_storms() -> Story:
    """The second begins two hours after the first, in which c takes b's place."""
    story = storm("two storms", 5 * MINUTE_MS, 3)
    later_ms = 140 * MINUTE_MS
    story.leave(later_ms, "b", reason="stop")
    gather(story, later_ms + 100, "a", **PATIENT)
    story.join(later_ms + 1000, "c", **PATIENT)
    gather(story, later_ms + 1100, "a", "c", **PATIENT)
    for turn in range(1, 4):
        goes_and_comes(story, later_ms + turn * MINUTE_MS, "c", "a", **PATIENT)
    return story


def silent() -> Story:
    """b joins and is not heard of again until its session of 10 s is over; each time it comes back a second later."""
    story = with_members("silent", "a", "b")
    at_ms = 1110
    for _ in range(3):
        for beat_ms in range(at_ms + 3000, at_ms + 12_000, 3000):
            story.heartbeat(beat_ms, "a")
        story.let_time_pass(at_ms + 10_990)
        gather(story, at_ms + 11_000, "a")
        story.join(at_ms + 12_000, "b", again_as="")
        gather(story, at_ms + 12_100, "a", "b")
        at_ms += 12_110
    return story


def twins() -> Story:
    """b and c are restarted in turn, and both call themselves b."""
    story = deploy("twins", "b", "c", "b")
    for row in story.rows:
        row.client_id = "b" if row.client_id == "c" else row.client_id
        row.detail = row.detail and row.detail.replace('"client_id":"c"', '"client_id":"b"')
    return story


def leader_loop(name: str, times: int, every_ms: int = 5000) -> Story:
    """a, alone and leader, joins again and again."""
    story = with_members(name, "a", **PATIENT)
    for turn in range(1, times + 1):
        story.join(1000 + turn * every_ms, "a", **PATIENT, reason="the partitions differ")
        story.sync(1100 + turn * every_ms, "a", {"a": ["t-0"]})
    return story


def stuck() -> Story:
    """b joins, a gives its partition up and joins again, and whoever leads does not say who gets what."""
    story = with_members("stuck", "a", "b", **PATIENT)
    story.join(5000, "b", **PATIENT, reason="other topics", topics=("t", "u"))
    story.join(6000, "a", **PATIENT)
    return story


def slow_heart() -> Story:
    """a is heard of after 7.4 s, after 7.5 s, after 9 s, and then not any more; its session is 10 s."""
    story = with_members("slow heart", "a")
    for at_ms in (8510, 16_010, 25_010):
        story.heartbeat(at_ms, "a")
    story.let_time_pass(40_000)
    return story


def deploy(name: str, *restarted: str) -> Story:
    """a, b and c; some are restarted one after the other, 10 s apart."""
    story = with_members(name, "a", "b", "c")
    for turn, who in enumerate(restarted):
        others = [other for other in ("a", "b", "c") if other != who]
        goes_and_comes(story, 4000 + turn * 4000, who, *others)
    return story


def zombie() -> Story:
    """b is silent until its session is over, then sends a commit and a heartbeat to what is a's by now."""
    story = one_expires()
    story.group_id = "zombie"
    story.commit(15_000, "b", {"t-1": 7}, generation_id=2)
    story.heartbeat(15_500, "b")
    story.heartbeat(16_000, "a")
    return story


def orderly() -> Story:
    """b comes, and is given what a had; a stays a member for a while, expires, and only then is refused."""
    story = with_members("orderly", "a")
    story.join(4000, "b")
    story.join(4100, "a")
    story.sync(4110, "a", {"a": [], "b": ["t-0"]})
    story.sync(4120, "b")
    for at_ms in range(5000, 20_000, 1000):
        story.heartbeat(at_ms, "a", "b")
    for at_ms in range(20_000, 30_000, 1000):
        story.heartbeat(at_ms, "b")
    story.heartbeat(31_000, "a")
    return story


def static_restart() -> Story:
    """i-a and i-b have been there since a rebalance; each is restarted once, and takes its place again without one."""
    story = Story("static restart", AT_ONCE)
    for who in ("a", "b"):
        story.join(1000, who, instance_id=f"i-{who}")
    story.join(1100, "a", instance_id="i-a")
    story.sync(1110, "a", {"a": ["t-0"], "b": ["t-1"]})
    story.sync(1120, "b")
    for turn, who in enumerate(("a", "b")):
        story.join(5000 + turn * 2000, who, instance_id=f"i-{who}", again_as="")
        story.sync(5100 + turn * 2000, who)
    return story


def troubles() -> list[Story]:
    """Every group in trouble, and those that look like it and are not."""
    return [
        *(storm("storm", 10 * MINUTE_MS, 3), storm("breeze", 35 * MINUTE_MS, 6), two_storms(), silent(), twins()),
        *(leader_loop("loop", 4), leader_loop("twice", 2), leader_loop("rare", 4, 61 * MINUTE_MS), slow_heart()),
        *(deploy("deploy", "b", "c"), deploy("drift", "c", "b"), deploy("one restart", "c")),
        *(deploy("flapper", "c", "c", "c"), zombie(), orderly(), static_restart()),
    ]
