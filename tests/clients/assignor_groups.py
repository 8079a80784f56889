"""Groups for the assignors' tests: short ways to write one down, and strategies that draw one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from rollcall.answers.clients.assignors import ASSIGNORS, MemberSubscription
from rollcall.schemas.consumer_protocol import Subscription, TopicPartition

Assigned = Mapping[str, Iterable[TopicPartition]]


def parse(partitions: str) -> tuple[TopicPartition, ...]:
    """ "t0p1 t1p0" as partitions, as Kafka's documentation writes them."""
    pairs = (text.rpartition("p") for text in partitions.split())
    return tuple(TopicPartition(topic, int(number)) for topic, _, number in pairs)


def show(assignment: Assigned) -> dict[str, str]:
    """An assignment in the form that `parse` reads, in the order assigned."""
    return {
        member_id: " ".join(f"{topic}p{number}" for topic, number in partitions)
        for member_id, partitions in assignment.items()
    }


@dataclass(frozen=True)
class Member:
    """A member of a test's group; `claims` is what it owns, or was last assigned, in `generation`."""

    member_id: str
    topics: str
    claims: str = ""
    generation: int = 5
    instance: str | None = None
    rack: str | None = None

    def subscribe(self, name: str) -> MemberSubscription:
        """Its subscription as the assignor of that name has it sent."""
        topics = tuple(self.topics.split())
        return as_sent(name, self.member_id, topics, parse(self.claims), self.generation, self.instance, self.rack)


def as_sent(
    name: str,
    member_id: str,
    topics: tuple[str, ...],
    claims: tuple[TopicPartition, ...],
    generation: int,
    instance: str | None = None,
    rack: str | None = None,
) -> MemberSubscription:
    """A member's subscription: the eager sticky assignor's claims are in its userData, the other's among the fields."""
    user_data = ASSIGNORS[name].subscription_user_data(claims if generation >= 0 else None, generation)
    owned = claims if name == "cooperative-sticky" else ()
    return MemberSubscription(member_id, instance, Subscription(topics, user_data, owned, generation, rack))


def assign(name: str, partitions_by_topic: Mapping[str, int], *members: Member) -> dict[str, str]:
    """What the assignor gives the members, as text."""
    subscriptions = {member.member_id: member.subscribe(name) for member in members}
    return show(ASSIGNORS[name].assign(partitions_by_topic, subscriptions))


@dataclass(frozen=True)
class Group:
    """A drawn group: partitions of topics, who subscribes to what, and who claims what in which generation."""

    partitions_by_topic: dict[str, int]
    topics: dict[str, tuple[str, ...]]
    claims: dict[str, tuple[TopicPartition, ...]]
    generations: dict[str, int]
    instances: dict[str, str | None]

    def members(self, name: str) -> dict[str, MemberSubscription]:
        return {
            member_id: as_sent(
                name,
                member_id,
                self.topics[member_id],
                self.claims[member_id],
                self.generations[member_id],
                self.instances[member_id],
            )
            for member_id in self.topics
        }

    def assign(self, name: str) -> dict[str, list[TopicPartition]]:
        return ASSIGNORS[name].assign(self.partitions_by_topic, self.members(name))

    def assignable(self) -> list[TopicPartition]:
        """Every partition of a topic somebody subscribes to."""
        subscribed = {topic for topics in self.topics.values() for topic in topics}
        counts = self.partitions_by_topic
        return sorted(
            TopicPartition(topic, each) for topic in counts if topic in subscribed for each in range(counts[topic])
        )

    def after(self, assignment: Assigned) -> Group:
        """The group in its next rebalance: everybody claims what it was assigned, in one new generation."""
        generation = max(self.generations.values()) + 1
        claims = {member_id: tuple(partitions) for member_id, partitions in assignment.items()}
        return replace(self, claims=claims, generations=dict.fromkeys(claims, generation))


PLAIN_TOPICS, ODD_TOPICS = ("orders", "payments", "clicks"), ("\uff5etilde", "\U0001f600smile")
PLAIN_NAMES, ODD_NAMES = ("app", "App", "worker"), ("\uffee", "\U0001f600")


@st.composite
def groups(draw: st.DrawFn, is_equal: bool | None = None, has_conflicts: bool = False, is_plain: bool = False) -> Group:
    """A group of 1 to 7 members over 1 to 5 topics, one of them without partitions now and then.

    With `is_equal` all members subscribe to the same topics. Each partition is claimed by at most one member, all in
    one generation, unless conflicts are asked for. Plain names sort alike in Java and in Python.
    """
    topics = st.sampled_from(PLAIN_TOPICS if is_plain else PLAIN_TOPICS + ODD_TOPICS)
    names = st.sampled_from(PLAIN_NAMES if is_plain else PLAIN_NAMES + ODD_NAMES)
    counts = {topic: draw(st.integers(0, 9)) for topic in draw(st.lists(topics, min_size=1, unique=True))}
    ids = st.builds("{}-{:04x}".format, names, st.integers(0, 65535))
    member_ids = draw(st.lists(ids, min_size=1, max_size=7, unique=True))
    some_topics = st.lists(st.sampled_from([*counts, "nowhere"]), min_size=1, unique=True).map(tuple)
    common = draw(some_topics) if is_equal or (is_equal is None and draw(st.booleans())) else None
    every = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
    claimants = st.integers(0, len(member_ids) if not has_conflicts else 2 ** len(member_ids) - 1)
    claimed = draw(st.lists(claimants, min_size=len(every), max_size=len(every)))
    claims = {
        member_id: tuple(
            partition
            for partition, by in zip(every, claimed, strict=True)
            if (by >> index & 1 if has_conflicts else by == index)
        )
        for index, member_id in enumerate(member_ids)
    }
    return Group(
        counts,
        {member_id: common or draw(some_topics) for member_id in member_ids},
        claims,
        {member_id: draw(st.integers(-1, 3)) if has_conflicts else 3 for member_id in member_ids},
        {member_id: draw(st.none() | st.just(f"instance-{member_id}")) for member_id in member_ids},
    )
