"""What `rollcall run` is asked for: which programs it starts how, and what it refuses before any of them."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from rollcall.cli.run.choices import Choices, RunOptions, choices, reachable
from rollcall.cli.run.demo_plan import TOPICS
from rollcall.programs.errors import ConfigError
from rollcall.serve.listeners.addresses import Address
from rollcall.tables.home import HomeError


def asked(**words: Any) -> Choices:
    return choices(RunOptions(**words), {"demo": 3})


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.conf"
    path.write_text(text)
    return path


def test_nothing_asked_is_a_gateway_on_kafkas_port_with_the_demos_topics() -> None:
    made = asked()
    assert made.settings is not None
    assert made.settings.listen == Address("127.0.0.1", 9092)
    assert made.settings.topics == {"demo": 3}
    assert made.gateway == ("--set", "topics=demo:3")
    assert made.coordinator == ()
    assert (made.has_demo, made.why_no_demo, made.seconds) == (True, "", float("inf"))


def test_topics_and_places_reach_the_gateway_beside_the_demos() -> None:
    made = asked(topics="work:12,demo:7", listen="127.0.0.1:0", metrics="127.0.0.1:1", demo_seconds="5")
    assert made.settings is not None
    assert made.settings.topics == {"demo": 7, "work": 12}
    assert (made.settings.listen.port, made.settings.metrics_listen) == (0, Address("127.0.0.1", 1))
    assert made.coordinator == ()
    assert made.seconds == 5


def test_without_the_demo_there_are_the_topics_that_were_named_and_no_others(tmp_path: Path) -> None:
    made = asked(is_demo_wanted=False, topics="work:12")
    assert made.settings is not None
    assert made.settings.topics == {"work": 12}
    assert (made.has_demo, made.why_no_demo) == (False, "")
    assert asked(is_demo_wanted=False).gateway == ()


def test_topics_of_the_settings_file_are_given_to_the_coordinator_with_the_others(tmp_path: Path) -> None:
    conf = written(tmp_path, "topics=old:2\n")
    made = asked(conf=conf, topics="new:4")
    every = ("--set", "topics=demo:3,old:2,new:4")
    assert made.coordinator == ("--conf-file", str(conf), *every)
    assert made.gateway == ("--conf-file", str(conf), *every)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("gateway.upstream=kafka:9092", "its topics are not the upstream's"),
        ("gateway.users=users", "clients have to show who they are"),
        ("gateway.ssl.certificate=server.pem", "clients have to show who they are"),
        (
            "spark.coordinator.source=kafka\nspark.coordinator.kafka.topic=r\nkafka.bootstrap.servers=kafka:9092",
            "requests do not come through a gateway",
        ),
    ],
)
def test_the_demo_stays_out_where_it_could_not_join_and_says_why(text: str, why: str, tmp_path: Path) -> None:
    conf = written(tmp_path, text + "\n")
    made = asked(conf=conf)
    assert (made.has_demo, made.why_no_demo) == (False, why)
    assert asked(conf=conf, is_demo_wanted=False).why_no_demo == ""
    assert (made.settings is None) == ("source" in text)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"listen": "9092"}, "gateway.listen=9092: is not of the form host:port"),
        ({"topics": "work"}, "topics=work: 'work' is not of the form topic:partitions"),
        ({"demo_seconds": "soon"}, "--demo-seconds soon: is not a number of seconds"),
        ({"demo_seconds": "-1"}, "--demo-seconds -1: is not a number of seconds"),
        ({"conf": Path("nowhere.conf")}, "nowhere.conf: cannot be read"),
        ({"upstream": "kafka:9092", "topics": "work:4"}, "topics: the upstream has the topics"),
        ({"listen": "0.0.0.0:9092"}, "others reach it and nobody has to authenticate"),
    ],
)
def test_what_cannot_be_is_refused_by_name(words: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=r"^[^\n]*$") as refused:
        asked(**words)
    assert complaint in str(refused.value)


@pytest.mark.parametrize(("name", "other"), [("listen", "metrics"), ("metrics", "listen")])
def test_a_port_in_use_is_refused_with_what_would_help(name: str, other: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        made = asked(home=str(tmp_path / "home"), **{name: place, other: "127.0.0.1:0"})
        with pytest.raises(ConfigError, match=f"nothing can listen on {place} .*: name another place with --{name} "):
            made.refuse_what_is_in_use()
    made.refuse_what_is_in_use()


def test_a_home_in_use_is_refused_before_anything_else(tmp_path: Path) -> None:
    made = asked(home=str(tmp_path / "home"), listen="127.0.0.1:0", metrics="127.0.0.1:0")
    with made.home.locked("the coordinator"), pytest.raises(HomeError, match="is in use by the coordinator"):
        made.refuse_what_is_in_use()
    made.refuse_what_is_in_use()


def test_a_gateway_on_every_address_is_reached_on_this_machine() -> None:
    assert reachable(Address("0.0.0.0", 9092)) == Address("127.0.0.1", 9092)
    assert reachable(Address("10.0.0.1", 9092)) == Address("10.0.0.1", 9092)


def test_the_demos_topics_are_those_of_all_its_groups() -> None:
    assert TOPICS == {"payments": 6, "orders": 8, "returns": 4, "audit": 4}
