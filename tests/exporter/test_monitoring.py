"""The folder `monitoring` asks for nothing that is not exported."""

from __future__ import annotations

import re
from pathlib import Path

from rollcall.answers.views.catalog import DETECTORS
from rollcall.serve.exporter.monitoring import ALERTS, ANNOTATION, PANELS
from rollcall.serve.exporter.serving import Exporter
from rollcall.serve.exporter.settings import ExportSettings
from tests.source_tree import ROOT

MONITORING = ROOT / "monitoring"
ASKED = [*(alert.expr for alert in ALERTS), *(expr for panel in PANELS for expr, _ in panel.queries), ANNOTATION]


def test_every_metric_that_is_asked_for_is_exported(tmp_path: Path) -> None:
    exporter = Exporter(tmp_path, ExportSettings())
    exporter.step()
    heads = re.findall(r"^# TYPE (\w+) ", exporter.text(is_openmetrics=False).decode(), re.MULTILINE)
    exporter.stop()
    asked = {name for expr in ASKED for name in re.findall(r"\b(?:rollcall|kafka)_\w+", expr)}
    assert len(asked) > 10
    assert asked <= set(heads)
    kinds = {kind for expr in ASKED for kind in re.findall(r'kind="(\w+)"', expr)}
    assert kinds <= DETECTORS.keys()


def test_every_rule_is_tested() -> None:
    assert set(re.findall(r"alertname: (\w+)", (MONITORING / "rules-test.yml").read_text())) == {
        alert.name for alert in ALERTS
    }
