"""What a scrape of an exporter finds, by metric and labels. Must not know how figures are made."""

from __future__ import annotations

from pathlib import Path

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families

from rollcall.serve.exporter.serving import Exporter
from rollcall.serve.exporter.settings import ExportSettings

Scraped = dict[tuple[str, ...], float]
"""The samples of one name: the values of their labels, in the order of the labels' names, and the sample's value."""

OF_ITSELF = ("rollcall_export_", "rollcall_history_")
"""How the names of an exporter's own figures begin."""


def scraped(text: bytes, *, is_openmetrics: bool = False) -> dict[str, Scraped]:
    found: dict[str, Scraped] = {}
    parse = openmetrics_families if is_openmetrics else text_string_to_metric_families
    for family in parse(text.decode()):
        for sample in family.samples:
            values = tuple(value for _, value in sorted(sample.labels.items()))
            samples = found.setdefault(sample.name, {})
            assert values not in samples, f"{sample.name} is there twice for {values}"
            samples[values] = sample.value
    return found


def exported(home: Path, settings: ExportSettings | None = None) -> dict[str, Scraped]:
    """What an exporter that has just been started finds in a home."""
    exporter = Exporter(home, settings or ExportSettings())
    try:
        exporter.step()
        return scraped(exporter.text(is_openmetrics=False))
    finally:
        exporter.stop()
