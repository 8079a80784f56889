"""The real Prometheus scrapes a home in which a member is killed: rules fire and resolve, dashboards have data.

Its rules are those of `monitoring`, with minutes made seconds; it scrapes where the ServiceMonitor says.
"""

from __future__ import annotations

import json
import re
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.monitoring.killed_member import GROUP, Home
from tests.monitoring.running import rollcall, serving
from tests.source_tree import ROOT
from tests.waiting import until

MONITORING = ROOT / "monitoring"
DASHBOARD = json.loads((MONITORING / "grafana-dashboard.json").read_text())
KAFKA_EXPORTERS = (
    # Grafana's dashboard 7589.
    "sum(rate(kafka_topic_partition_current_offset{topic=~'.*'}[1m])) by (topic)",
    "sum(delta(kafka_topic_partition_current_offset{topic=~'.*'}[5m])/5) by (topic)",
    "sum(delta(kafka_consumergroup_current_offset{topic=~'.*'}[5m])/5) by (consumergroup, topic)",
    "sum(kafka_consumergroup_lag{topic=~'.*'}) by (consumergroup, topic)",
    "sum by(topic) (kafka_topic_partitions{topic=~'.*'})",
    # Strimzi's rules TooLargeConsumerGroupLag and NoMessageForTooLong, without what they are compared with.
    "kafka_consumergroup_lag",
    'changes(kafka_topic_partition_current_offset{topic!="__consumer_offsets"}[10m])',
)


class Prometheus:
    """A server of its own, asked by its API."""

    def __init__(self, address: str) -> None:
        self._address = address

    def asked(self, path: str, **params: str) -> Any:
        url = f"{self._address}/api/v1/{path}?{urllib.parse.urlencode(params)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def found(self, query: str) -> list[dict[str, Any]]:
        result: list[dict[str, Any]] = self.asked("query", query=query)["result"]
        return result

    def firing(self) -> set[str]:
        alerts = self.asked("alerts")["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def prometheus(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    rules = (MONITORING / "rules.yml").read_text()
    (folder / "rules.yml").write_text(re.sub(r"\b(\d+)m\b", r"\1s", rules))
    words = ("exporter", "--home", str(home.path), "--listen", "127.0.0.1:0")
    often = ("--set", "rollcall.export.interval.ms=200")
    with rollcall(*words, *often, says=r"http://(127\.0\.0\.1:\d+)") as (_, place):
        (endpoint,) = yaml.safe_load((MONITORING / "servicemonitor.yaml").read_text())["spec"]["endpoints"]
        scraped = {
            "job_name": "rollcall",
            "metrics_path": endpoint["path"],
            "static_configs": [{"targets": [place[1]]}],
        }
        conf = {
            "global": {"scrape_interval": "500ms", "evaluation_interval": "500ms"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [scraped],
        }
        (folder / "prometheus.yml").write_text(yaml.safe_dump(conf))
        options = (f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data")
        with serving("prometheus", folder, *options) as address:
            yield Prometheus(address)


def of_the_dashboard() -> list[str]:
    """What Grafana asks of Prometheus to draw it, for every group."""
    asked = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    asked = [expr.replace("$group", ".*").replace("$__rate_interval", "60s") for expr in asked]
    assert len(asked) > 15
    assert not any("$" in expr for expr in asked)
    return asked


def test_rules_fire_for_a_killed_member_and_resolve(home: Home, prometheus: Prometheus) -> None:
    counted = "count_over_time(rollcall_group_expired_members_total[1m]) >= 3"
    until(lambda: prometheus.found(counted), "the group was scraped three times")
    assert prometheus.firing() == set()
    home.kill()
    reported = {"KafkaGroupMemberExpired", "KafkaGroupStoodStill"}
    until(lambda: prometheus.firing() >= reported, lambda: str(prometheus.asked("alerts")))
    assert prometheus.firing() == reported

    assert [query for query in (*of_the_dashboard(), *KAFKA_EXPORTERS) if not prometheus.found(query)] == []
    (annotation,) = DASHBOARD["annotations"]["list"]
    query = annotation["expr"].replace("$group", ".*").replace("$__interval", "2s")
    span = {"start": f"{time.time() - 60}", "end": f"{time.time()}", "step": "1s"}
    drawn = prometheus.asked("query_range", query=query, **span)["result"]
    assert {(one["metric"]["group"], one["metric"]["cause"]) for one in drawn} == {(GROUP, "session_expired")}

    (variable,) = (one for one in DASHBOARD["templating"]["list"] if one["type"] == "query")
    names = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"])
    assert names
    assert prometheus.asked(f"label/{names[2]}/values", **{"match[]": names[1]}) == [GROUP]

    home.go_on()
    until(lambda: not prometheus.firing(), lambda: str(prometheus.asked("alerts")))
    (expired,) = prometheus.found("rollcall_group_expired_members_total")
    assert expired["value"][1] == "1", "the counter stays where it is"
