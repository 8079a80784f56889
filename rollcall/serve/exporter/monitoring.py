"""Makes the folder `monitoring`: Prometheus' rules, Grafana's dashboard, a ServiceMonitor.

    python -m rollcall.serve.exporter.monitoring [FOLDER]

Knows what is worth an alert and a panel, and the forms of these files. Must not know how a figure is made.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from rollcall.answers.views.catalog import DETECTORS

FOLDER = Path("monitoring")
PAGE = "http://127.0.0.1:8080"
"""Where the links of dashboards lead, unless the variable `page` says otherwise."""


class Alert(NamedTuple):
    """A rule: its name, when it fires, for how long that must hold, how bad it is, and what it says."""

    name: str
    expr: str
    holds_for: str
    severity: str
    summary: str


def _trouble(name: str, kind: str, summary: str) -> Alert:
    detector = DETECTORS[kind].detector
    assert detector is not None
    return Alert(name, f'rollcall_troubles{{kind="{kind}"}} > 0', "0m", detector.severity, summary)


ALERTS = (
    Alert(
        "KafkaGroupMemberExpired",
        "increase(rollcall_group_expired_members_total[5m]) > 0",
        "0m",
        "warning",
        "A member of {{ $labels.group }} sent no heartbeat within its session timeout and was removed.",
    ),
    Alert(
        "KafkaGroupRebalancesOften",
        "sum without (cause) (increase(rollcall_group_rebalances_total[15m])) > 10",
        "0m",
        "warning",
        "{{ $labels.group }} began to rebalance {{ $value | humanize }} times in a quarter of an hour.",
    ),
    _trouble(
        "KafkaGroupRebalancing",
        "rebalance_goes_on",
        "{{ $labels.group }} did not come out of a rebalance for six minutes or longer.",
    ),
    _trouble(
        "KafkaGroupWentEmpty",
        "went_empty",
        "{{ $labels.group }} had members, and then none for five minutes or longer.",
    ),
    _trouble("KafkaGroupStoodStill", "standstills", "For a time nobody in {{ $labels.group }} held a partition."),
    _trouble(
        "KafkaGroupFallsBehind",
        "falling_behind",
        "{{ $labels.group }} consumes, and its lag grows and grows.",
    ),
    _trouble(
        "KafkaPartitionHeldNotMoving",
        "held_not_moving",
        "A living member of {{ $labels.group }} owns a partition with records to read, and commits nothing new.",
    ),
    _trouble(
        "KafkaRecordsLost",
        "records_lost",
        "Records were removed before {{ $labels.group }} had read them, or are about to be.",
    ),
    Alert(
        "KafkaGroupLagsLong",
        "kafka_consumergroup_group_max_lag_seconds > 600",
        "5m",
        "warning",
        "The oldest record that {{ $labels.group }} has not read is {{ $value | humanizeDuration }} old.",
    ),
    Alert(
        "RollcallIsBehind",
        "rollcall_history_age_seconds > 120 or rollcall_export_age_seconds > 300 or rollcall_export_failing == 1",
        "2m",
        "critical",
        "What {{ $labels.instance }} says of groups is old: the job of its home writes nothing, or figures fail.",
    ),
)


def rules() -> str:
    """The alerting rules as Prometheus' YAML."""
    lines = ["groups:", "  - name: rollcall", "    rules:"]
    for alert in ALERTS:
        lines += [
            f"      - alert: {alert.name}",
            f"        expr: {json.dumps(alert.expr)}",
            f"        for: {alert.holds_for}",
            "        labels:",
            f"          severity: {alert.severity}",
            "        annotations:",
            f"          summary: {json.dumps(alert.summary)}",
        ]
    return "\n".join(lines) + "\n"


def service_monitor() -> str:
    """What the Prometheus Operator scrapes: services with this label, at their port `metrics`."""
    return """\
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: rollcall
  labels:
    app.kubernetes.io/name: rollcall
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: rollcall
  endpoints:
    - port: metrics
      path: /metrics
      interval: 30s
      scrapeTimeout: 10s
"""


class Panel(NamedTuple):
    """A chart: its title, its unit, how wide it is of 24, and what it asks, each with its legend."""

    title: str
    unit: str
    width: int
    queries: tuple[tuple[str, str], ...]
    kind: str = "timeseries"


_OF_KAFKA, _OF_ROLLCALL = 'consumergroup=~"$group"', 'group=~"$group"'
_REBALANCES = "rollcall_group_rebalances_total"


def _rate(counter: str) -> str:
    return f"rate({counter}{{{_OF_ROLLCALL}}}[$__rate_interval])"


PANELS = (
    Panel("Groups", "none", 4, (("count(kafka_consumergroup_members)", "groups"),), "stat"),
    Panel("Groups without members", "none", 4, (("sum(kafka_consumergroup_members == bool 0)", "empty"),), "stat"),
    Panel("Groups that rebalance now", "none", 4, (
        ("sum((kafka_consumergroup_group_state == bool 1) + (kafka_consumergroup_group_state == bool 2))", "groups"),
    ), "stat"),
    Panel("Age of what is known", "s", 4, (
        ("max(rollcall_history_age_seconds)", "history"), ("max(rollcall_export_age_seconds)", "figures"),
    ), "stat"),
    Panel("Troubles", "none", 8, ((f"rollcall_troubles{{{_OF_ROLLCALL}}}", "{{group}} {{kind}}"),)),
    Panel("Rebalances a minute, by cause", "none", 12, (
        (f"sum by (cause) ({_rate(_REBALANCES)}) * 60", "{{cause}}"),
    )),
    Panel("Rebalances a minute, by group", "none", 12, (
        (f"sum by (group) ({_rate(_REBALANCES)}) * 60", "{{group}}"),
    )),
    Panel("Members that stand still", "none", 8, (
        (_rate("rollcall_group_member_seconds_stopped_total"), "{{group}}"),
    )),
    Panel("Partitions that nobody serves", "none", 8, (
        (_rate("rollcall_group_partition_seconds_unserved_total"), "{{group}}"),
    )),
    Panel("Members expired in 5 minutes", "none", 8, (
        (f"increase(rollcall_group_expired_members_total{{{_OF_ROLLCALL}}}[5m])", "{{group}}"),
    )),
    Panel("Lag in records", "none", 12, (
        (f"sum by (consumergroup, topic) (kafka_consumergroup_lag_sum{{{_OF_KAFKA}}})", "{{consumergroup}} {{topic}}"),
    )),
    Panel("Lag in time", "s", 12, ((f"kafka_consumergroup_group_max_lag_seconds{{{_OF_ROLLCALL}}}", "{{group}}"),)),
    Panel("Records a second", "none", 12, (
        (
            "sum by (consumergroup, topic) "
            f"(rate(kafka_consumergroup_current_offset_sum{{{_OF_KAFKA}}}[$__rate_interval]))",
            "{{consumergroup}} {{topic}}",
        ),
    )),
    Panel("Lag that rebalances made, records a minute", "none", 12, (
        (_rate("rollcall_group_lag_grown_in_rebalances_total") + " * 60", "{{group}}"),
    )),
    Panel("Members", "none", 12, ((f"kafka_consumergroup_members{{{_OF_KAFKA}}}", "{{consumergroup}}"),)),
    Panel("Least slack of a heartbeat", "percentunit", 12, (
        (f"rollcall_group_heartbeat_slack_ratio_min{{{_OF_ROLLCALL}}}", "{{group}}"),
    )),
)  # fmt: skip
_COUNTED = f"{_REBALANCES}{{{_OF_ROLLCALL}}}"
ANNOTATION = (
    f"increase({_COUNTED}[$__interval]) > 0 or ({_COUNTED} unless max_over_time({_COUNTED}[1h] offset $__interval)) "
    "and on (group) rollcall_group_expired_members_total offset $__interval"
)
"""A cause's first rebalance begins its series, in which `increase` sees nothing: it is a series that was not there
when the group was."""
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_HEIGHT, _COLUMNS = 8, 24
_GROUPS = "label_values(kafka_consumergroup_members, consumergroup)"
VARIABLES = [
    {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
    {
        "name": "group",
        "label": "Group",
        "type": "query",
        "datasource": _SOURCE,
        "definition": _GROUPS,
        "query": {"query": _GROUPS, "refId": "group"},
        "refresh": 2,
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
    },
    {"name": "page", "label": "Page", "type": "textbox", "query": PAGE},
]
REBALANCES = {
    "name": "Rebalances",
    "datasource": _SOURCE,
    "enable": True,
    "expr": ANNOTATION,
    "step": "30s",
    "titleFormat": "{{group}}: {{cause}}",
    "textFormat": '<a href="${page}/group?group={{group}}" target="_blank">the group</a>',
    "tagKeys": "cause",
}


def dashboard() -> str:
    """Grafana's dashboard as JSON; a point of a chart by group leads to the page of that group at that moment."""
    panels: list[dict[str, Any]] = []
    x = y = 0
    for number, panel in enumerate(PANELS, 1):
        if x + panel.width > _COLUMNS:
            x, y = 0, y + _HEIGHT
        panels.append(_panel(number, panel, {"x": x, "y": y, "w": panel.width, "h": _HEIGHT}))
        x += panel.width
    shown = {
        "title": "Rollcall: consumer groups",
        "uid": "rollcall-groups",
        "tags": ["kafka", "rollcall"],
        "schemaVersion": 39,
        "timezone": "utc",
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": VARIABLES},
        "annotations": {"list": [REBALANCES]},
        "panels": panels,
    }
    return json.dumps(shown, indent=2) + "\n"


def _panel(number: int, panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    link = "${page}/group?group=${__field.labels.group}${__field.labels.consumergroup}&at=${__value.time}"
    leads = "group" in panel.queries[0][1] and panel.kind == "timeseries"
    links = [{"title": "The group then", "url": link, "targetBlank": True}] if leads else []
    return {
        "id": number,
        "title": panel.title,
        "type": panel.kind,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "links": links}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + place), "datasource": _SOURCE, "expr": expr, "legendFormat": legend}
            for place, (expr, legend) in enumerate(panel.queries)
        ],
    }


FILES = {"rules.yml": rules, "grafana-dashboard.json": dashboard, "servicemonitor.yaml": service_monitor}


def write(folder: Path) -> None:
    """Writes every file anew."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in FILES.items():
        (folder / name).write_text(made())


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
