"""Prometheus' own tool finds nothing wrong with metrics, rules and scrapes, and the rules hold their tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from rollcall.serve.exporter.serving import Exporter
from rollcall.serve.exporter.settings import ExportSettings
from tests.lag.homes import write_capture
from tests.monitoring.debian import program
from tests.page.homes import hostile
from tests.source_tree import ROOT

MONITORING = ROOT / "monitoring"


def promtool(*words: str, stdin: bytes = b"") -> None:
    done = subprocess.run(
        [program("promtool"), *words],
        input=stdin,
        cwd=MONITORING,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()
    assert words != ("check", "metrics") or done.stdout == b""


@pytest.mark.parametrize("is_hostile", [True, False], ids=["of clients with hostile names", "with lag"])
def test_it_finds_nothing_in_the_metrics(is_hostile: bool, tmp_path: Path) -> None:
    if is_hostile:
        hostile(tmp_path)
    else:
        write_capture(tmp_path)
    exporter = Exporter(tmp_path, ExportSettings(has_members=True, cluster_name='a "cluster"'))
    exporter.step()
    text = exporter.text(is_openmetrics=False)
    exporter.stop()
    assert b"kafka_consumergroup_members{" in text
    promtool("check", "metrics", stdin=text)


def test_the_rules_are_some_and_hold_their_tests() -> None:
    promtool("check", "rules", "rules.yml")
    promtool("test", "rules", "rules-test.yml")


def test_prometheus_takes_what_the_operator_makes_of_the_service_monitor(tmp_path: Path) -> None:
    monitor = yaml.safe_load((MONITORING / "servicemonitor.yaml").read_text())
    assert (monitor["apiVersion"], monitor["kind"]) == ("monitoring.coreos.com/v1", "ServiceMonitor")
    assert monitor.keys() == {"apiVersion", "kind", "metadata", "spec"}
    assert monitor["spec"].keys() == {"selector", "endpoints"}
    ((label, value),) = monitor["spec"]["selector"]["matchLabels"].items()
    (endpoint,) = monitor["spec"]["endpoints"]
    of_service = "__meta_kubernetes_service_label_" + label.replace(".", "_").replace("/", "_")
    scraped = {
        "job_name": monitor["metadata"]["name"],
        "metrics_path": endpoint.pop("path"),
        "scrape_interval": endpoint.pop("interval"),
        "scrape_timeout": endpoint.pop("scrapeTimeout"),
        # Not by Kubernetes, of which Debian's Prometheus knows nothing.
        "static_configs": [],
        "relabel_configs": [
            {"action": "keep", "source_labels": [of_service], "regex": value},
            {
                "action": "keep",
                "source_labels": ["__meta_kubernetes_endpoint_port_name"],
                "regex": endpoint.pop("port"),
            },
        ],
    }
    assert endpoint == {}
    conf = {"rule_files": [str(MONITORING / "rules.yml")], "scrape_configs": [scraped]}
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(conf))
    promtool("check", "config", str(tmp_path / "prometheus.yml"))
