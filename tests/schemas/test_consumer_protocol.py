"""The consumer protocol's bytes: Kafka's layout by literal bytes, round trips, and what malformed bytes lead to."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rollcall.schemas.consumer_protocol import (
    Assignment,
    StickyUserData,
    Subscription,
    TopicPartition,
    decode_assignment,
    decode_cooperative_sticky_user_data,
    decode_sticky_user_data,
    decode_subscription,
    decode_topics,
    encode_assignment,
    encode_cooperative_sticky_user_data,
    encode_sticky_user_data,
    encode_subscription,
    java_string_order,
)
from rollcall.schemas.layout import LayoutError

DECODERS: tuple[Callable[[bytes], object], ...] = (
    decode_subscription,
    decode_assignment,
    decode_topics,
    decode_sticky_user_data,
    decode_cooperative_sticky_user_data,
)

OWNED = (TopicPartition("b", 2), TopicPartition("a", 1), TopicPartition("b", 0))
FULL = Subscription(("b", "a"), b"\xca\xfe", OWNED, 7, "rack1")
V0 = "0000 00000002 000161 000162 00000002cafe"
V1_TAIL = "00000002 000161 00000001 00000001 000162 00000002 00000000 00000002"
V2_TAIL = "00000007"
V3_TAIL = "0005 7261636b31"


def layout(version: int, *parts: str) -> bytes:
    return bytes.fromhex(f"{version:04x}" + V0[4:] + "".join(parts))


def refusal(decode: Callable[[bytes], object], data: bytes) -> LayoutError | None:
    try:
        decode(data)
    except LayoutError as error:
        return error
    return None


def place_of(error: LayoutError) -> int:
    place = re.search(r" at byte (\d+): ", str(error))
    assert place is not None
    return int(place[1])


FULL_BYTES = {
    0: layout(0),
    1: layout(1, V1_TAIL),
    2: layout(2, V1_TAIL, V2_TAIL),
    3: layout(3, V1_TAIL, V2_TAIL, V3_TAIL),
}


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_subscription_is_written_as_kafka_lays_it_out(version: int) -> None:
    assert encode_subscription(FULL, version) == FULL_BYTES[version]


def test_a_subscription_is_read_back_as_far_as_its_version_carries_it() -> None:
    topics, owned = ("a", "b"), (TopicPartition("a", 1), TopicPartition("b", 0), TopicPartition("b", 2))
    assert decode_subscription(FULL_BYTES[0]) == Subscription(topics, b"\xca\xfe")
    assert decode_subscription(FULL_BYTES[1]) == Subscription(topics, b"\xca\xfe", owned)
    assert decode_subscription(FULL_BYTES[2]) == Subscription(topics, b"\xca\xfe", owned, 7)
    assert decode_subscription(FULL_BYTES[3]) == Subscription(topics, b"\xca\xfe", owned, 7, "rack1")


@pytest.mark.parametrize(
    ("metadata", "subscription"),
    [
        # What real clients send when they join: the Java client with range, then with cooperative-sticky.
        ("0003000000010008636865636b6f7574ffffffff00000000ffffffffffff", Subscription(("checkout",), None)),
        (
            "000300000001000573746f636b000000040000000100000001000573746f636b0000000300000000000000030000000600000001"
            "ffff",
            Subscription(
                ("stock",),
                b"\x00\x00\x00\x01",
                (TopicPartition("stock", 0), TopicPartition("stock", 3), TopicPartition("stock", 6)),
                1,
            ),
        ),
        # kafka-python and aiokafka: version 0, empty userData rather than none.
        ("000000000001000377656200000000", Subscription(("web",), b"")),
    ],
)
def test_what_real_clients_send_is_read_and_written_again_byte_for_byte(
    metadata: str, subscription: Subscription
) -> None:
    data = bytes.fromhex(metadata)
    assert decode_subscription(data) == subscription
    assert encode_subscription(subscription, data[1]) == data


def test_an_empty_rack_is_no_rack() -> None:
    """librdkafka sends an empty rack where the Java client sends none."""
    metadata = bytes.fromhex("000300000001000762696c6c696e670000000000000000ffffffff0000")
    assert decode_subscription(metadata) == Subscription(("billing",), b"")
    assert encode_subscription(Subscription((), rack_id="")) == encode_subscription(Subscription(()))


def test_an_assignment_is_written_as_kafka_lays_it_out() -> None:
    assignment = Assignment(OWNED, None)
    body = "00000002 000162 00000002 00000002 00000000 000161 00000001 00000001 ffffffff"
    assert encode_assignment(assignment) == bytes.fromhex("0003" + body)
    assert encode_assignment(assignment, 0) == bytes.fromhex("0000" + body)
    assert encode_assignment(Assignment((), b"x"), 1) == bytes.fromhex("0001 00000000 00000001 78")


def test_an_assignment_of_no_partitions_is_not_the_empty_bytes_that_mean_no_assignment() -> None:
    assert decode_assignment(bytes.fromhex("0000 00000000 ffffffff")) == Assignment((), None)
    with pytest.raises(LayoutError, match="version: bytes at byte 0: 2 are missing"):
        decode_assignment(b"")


def test_sticky_user_data_is_written_as_kafka_lays_it_out_and_sorted() -> None:
    body = "00000002 000161 00000001 00000001 000162 00000002 00000000 00000002"
    assert encode_sticky_user_data(StickyUserData(OWNED, 5)) == bytes.fromhex(body + "00000005")
    assert encode_sticky_user_data(StickyUserData(OWNED)) == bytes.fromhex(body)


def test_cooperative_sticky_user_data_is_the_generation() -> None:
    assert encode_cooperative_sticky_user_data(258) == bytes.fromhex("00000102")
    assert decode_cooperative_sticky_user_data(bytes.fromhex("ffffffff")) == -1


@pytest.mark.parametrize("version", [4, 32767])
def test_a_newer_version_is_read_with_the_highest_known_layout_and_its_tail_ignored(version: int) -> None:
    newer = layout(version, V1_TAIL, V2_TAIL, V3_TAIL, "deadbeef")
    assert decode_subscription(newer) == decode_subscription(FULL_BYTES[3])
    assert decode_assignment(bytes.fromhex(f"{version:04x} 00000000 ffffffff 99")) == Assignment((), None)


@pytest.mark.parametrize("version", ["0000", "0003", "0004", "7fff", "ffff"])
def test_topics_are_read_from_the_layout_of_version_0_whatever_the_version(version: str) -> None:
    """Brokers do so even below a negative one."""
    assert decode_topics(bytes.fromhex(version + V0[4:] + "ff")) == {"a", "b"}


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_every_truncation_names_the_field_it_cut(version: int) -> None:
    data = FULL_BYTES[version]
    fields = []
    for length in range(len(data)):
        with pytest.raises(LayoutError) as raised:
            decode_subscription(data[:length])
        assert place_of(raised.value) <= length
        fields.append(str(raised.value).removeprefix("Subscription: ").partition(":")[0])
    order = ["version", "topics", "user_data", "owned_partitions", "generation_id", "rack_id"]
    assert list(dict.fromkeys(fields)) == order[: 3 + version]


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("ffff 00000000 ffffffff", "version: -1 at byte 0: is negative"),
        ("8000 00000000 ffffffff", "version: -32768 at byte 0: is negative"),
        ("00", "version: bytes at byte 1: 1 are missing"),
        ("0000 ffffffff", "Subscription: topics: count at byte 2: -1 is negative"),
        ("0000 7fffffff 0000", "Subscription: topics: count at byte 2: 2147483647 items cannot be in 2 bytes"),
        ("0000 00000001 ffff", "Subscription: topics: length at byte 6: -1 is negative"),
        ("0000 00000001 fffe", "Subscription: topics: length at byte 6: -2 is negative"),
        ("0000 00000001 0005 6162", "Subscription: topics: bytes at byte 10: 3 are missing"),
        ("0000 00000001 0002 61ff", "Subscription: topics: text at byte 9: b'a\\xff' is not UTF-8"),
        ("0000 00000000 fffffffe", "Subscription: user_data: length at byte 6: -2 is negative"),
        ("0000 00000000 7fffffff 00", "Subscription: user_data: bytes at byte 11: 2147483646 are missing"),
        (
            "0001 00000000 ffffffff 80000000",
            "Subscription: owned_partitions: count at byte 10: -2147483648 is negative",
        ),
        (
            "0001 00000000 ffffffff 00000001 0000",
            "Subscription: owned_partitions: count at byte 10: 1 items cannot be in 2 bytes",
        ),
        (
            "0001 00000000 ffffffff 00000001 000161 40000000 00000000",
            "Subscription: owned_partitions: partitions: count at byte 17: 1073741824 items cannot be in 4 bytes",
        ),
        (
            "0001 00000000 ffffffff 00000001 000161 ffffffff",
            "Subscription: owned_partitions: partitions: count at byte 17: -1 is negative",
        ),
        ("0002 00000000 ffffffff 00000000 0000", "Subscription: generation_id: bytes at byte 16: 2 are missing"),
        (
            "0003 00000000 ffffffff 00000000 00000001 8000",
            "Subscription: rack_id: length at byte 18: -32768 is negative",
        ),
    ],
)
def test_malformed_bytes_are_refused_with_the_field_and_the_place(metadata: str, message: str) -> None:
    with pytest.raises(LayoutError) as raised:
        decode_subscription(bytes.fromhex(metadata))
    assert str(raised.value) == message


@pytest.mark.parametrize("decode", DECODERS)
def test_absurd_counts_and_lengths_cost_no_memory(decode: Callable[[bytes], object]) -> None:
    tracemalloc.start()
    for data in (b"\x00\x00\x7f\xff\xff\xff" + b"\x00" * 64, b"\x7f\xff\xff\xff" + b"\x00" * 64, b"\x7f\xff\xff"):
        refusal(decode, data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize(
    ("encode", "message"),
    [
        (lambda: encode_subscription(FULL, 4), "version: 4 is outside 0..3"),
        (lambda: encode_assignment(Assignment(()), -1), "version: -1 is outside 0..3"),
        (lambda: encode_subscription(Subscription(("t" * 32768,))), "topics: 32768: does not fit 2 bytes"),
        (lambda: encode_subscription(Subscription(("\ud800",))), "topics: text: '\\ud800' cannot be written as UTF-8"),
        (
            lambda: encode_subscription(Subscription((), generation_id=2**31)),
            "generation_id: 2147483648: does not",
        ),
        (
            lambda: encode_assignment(Assignment((TopicPartition("t", -(2**31) - 1),))),
            "partitions: partitions: -2147483649: does not fit 4 bytes",
        ),
        (lambda: encode_cooperative_sticky_user_data(2**31), "generation: 2147483648: does not fit 4 bytes"),
    ],
)
def test_what_the_layout_cannot_carry_is_refused_with_the_field_and_the_value(
    encode: Callable[[], bytes], message: str
) -> None:
    with pytest.raises(LayoutError) as raised:
        encode()
    assert str(raised.value).startswith(message)


def test_text_is_ordered_by_utf16_units_as_in_java() -> None:
    names = ["\uff5e", "\U0001f600", "b", "a", "\ue000", "ab", ""]
    assert sorted(names, key=java_string_order) == ["", "a", "ab", "b", "\U0001f600", "\ue000", "\uff5e"]
    assert encode_subscription(Subscription(("\uff5e", "\U0001f600")), 0)[6:12] == b"\x00\x04\xf0\x9f\x98\x80"


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PARTITIONS = st.lists(st.builds(TopicPartition, TEXT, st.integers(-(2**31), 2**31 - 1)), max_size=8).map(tuple)
USER_DATA = st.none() | st.binary(max_size=12)
SUBSCRIPTIONS = st.builds(
    Subscription,
    st.lists(TEXT, max_size=5).map(tuple),
    USER_DATA,
    PARTITIONS,
    st.integers(-(2**31), 2**31 - 1),
    st.none() | TEXT.filter(bool),
)


def in_java_order(partitions: tuple[TopicPartition, ...]) -> tuple[TopicPartition, ...]:
    return tuple(sorted(partitions, key=lambda each: (java_string_order(each.topic), each.partition)))


@given(SUBSCRIPTIONS)
def test_a_subscription_comes_back_sorted_and_otherwise_unchanged(subscription: Subscription) -> None:
    assert decode_subscription(encode_subscription(subscription)) == Subscription(
        tuple(sorted(subscription.topics, key=java_string_order)),
        subscription.user_data,
        in_java_order(subscription.owned_partitions),
        subscription.generation_id,
        subscription.rack_id,
    )


@given(SUBSCRIPTIONS, st.integers(0, 3))
def test_every_version_of_a_subscription_has_the_same_topics(subscription: Subscription, version: int) -> None:
    metadata = encode_subscription(subscription, version)
    assert decode_topics(metadata) == frozenset(subscription.topics)
    assert encode_subscription(decode_subscription(metadata), version) == metadata


@given(PARTITIONS, USER_DATA, st.integers(0, 3))
def test_an_assignment_comes_back_grouped_by_topic(
    partitions: tuple[TopicPartition, ...], user_data: bytes | None, version: int
) -> None:
    topics = list(dict.fromkeys(topic for topic, _ in partitions))
    grouped = tuple(each for topic in topics for each in partitions if each.topic == topic)
    data = encode_assignment(Assignment(partitions, user_data), version)
    assert decode_assignment(data) == Assignment(grouped, user_data)


@given(PARTITIONS, st.none() | st.integers(-(2**31), 2**31 - 1))
def test_sticky_user_data_comes_back_sorted(partitions: tuple[TopicPartition, ...], generation: int | None) -> None:
    data = encode_sticky_user_data(StickyUserData(partitions, generation))
    assert decode_sticky_user_data(data) == StickyUserData(in_java_order(partitions), generation)


MANGLED = st.builds(
    lambda data, at, byte: data[: at % len(data)] + bytes([byte]) + data[at % len(data) + 1 :],
    st.builds(encode_subscription, SUBSCRIPTIONS, st.integers(0, 3)),
    st.integers(0, 1000),
    st.integers(0, 255),
)


@given(st.binary(max_size=200) | MANGLED)
@example(b"")
@example(b"\xff" * 64)
@example(b"\x00" * 64)
def test_any_bytes_are_either_read_or_refused_with_a_field(data: bytes) -> None:
    for decode in DECODERS:
        error = refusal(decode, data)
        if error is not None:
            assert 0 <= place_of(error) <= len(data)
