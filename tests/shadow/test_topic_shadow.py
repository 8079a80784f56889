"""What a shadow of a cluster is asked for, and what its home remembers; without a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.__main__ import main
from rollcall.cli.shadow.command import TOPIC_SHADOW
from rollcall.cli.shadow.topic import check_cluster, topic_config
from rollcall.programs.errors import ConfigError
from rollcall.tables.home import Home, HomeError


def test_a_file_gives_tls_and_sasl_and_the_address_gives_the_servers(tmp_path: Path) -> None:
    conf = tmp_path / "mine.conf"
    conf.write_text("kafka.security.protocol=SASL_SSL\nspark.coordinator.trigger.interval.ms=5000\n")
    config = topic_config("kafka://one:9092,two:9092", conf)
    assert dict(config.kafka_options) == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.bootstrap.servers": "one:9092,two:9092",
    }
    assert (config.kafka_topic, config.trigger_interval_ms) == ("__consumer_offsets", 5000)


def test_an_address_without_a_server_is_named() -> None:
    with pytest.raises(ConfigError, match=r"FROM=kafka://: is not of the form kafka://host:port"):
        topic_config("kafka://", None)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["kafka://h:9092", "--set", "group.max.size=3"], "--zone and --set of a broker are said of a request log"),
        (["kafka://h:9092", "--zone", "Asia/Kolkata"], "--zone and --set of a broker are said of a request log"),
        (["kafka://h:9092", "--set", "groups.g.x=3"], "groups.g.x=3: is not of the form groups.GROUP.KEY"),
        (["requests.log", "--no-offsets"], "--conf and --offsets are said of a cluster"),
        (["kafka://h:9092/topic", "--no-offsets"], "kafka://h:9092/topic: is not of the form kafka://host:port"),
        (["one.log", "two.log"], "expected at most one log and one cluster, found 2 and 0"),
        (["kafka://h:9092", "kafka://i:9092"], "expected at most one log and one cluster, found 0 and 2"),
        (["one.log", "kafka://"], "kafka://: is not of the form kafka://host:port"),
    ],
)
def test_what_does_not_fit_what_is_followed_is_refused(
    words: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["shadow", "--home", str(tmp_path), *words]) == 2
    assert why in capsys.readouterr().err


def test_a_home_belongs_to_one_cluster_and_one_choice_of_commits(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.check_kind(TOPIC_SHADOW, "driver")
    check_cluster(home, "cluster-1", has_commits=True)
    check_cluster(home, "cluster-1", has_commits=True)
    with pytest.raises(HomeError, match="follows the cluster cluster-1, and this is cluster-2"):
        check_cluster(home, "cluster-2", has_commits=True)
    with pytest.raises(HomeError, match="was begun with commits: keep OFFSETS="):
        check_cluster(home, "cluster-1", has_commits=False)
    with pytest.raises(HomeError, match="holds a topic shadow history, not a live one"):
        home.check_kind("live", "driver")
