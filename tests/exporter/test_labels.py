"""Whatever a group, a topic or a client is called, its series are whole lines, and differ from those of others."""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from rollcall.programs.visible import visible
from rollcall.serve.exporter.labels import OTHERS, label_value, label_values
from rollcall.serve.exporter.serving import Exporter
from rollcall.serve.exporter.settings import ExportSettings
from tests.exporter.groups import stories
from tests.exporter.scraped import scraped
from tests.lag.homes import ends, write_home
from tests.page.homes import HOSTILE, hostile

FORGED = 'kafka_consumergroup_members{consumergroup="victim"} 99'
BREAKS = ("\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
NAMES = (
    *(f"a{mark}{FORGED}{mark}b" for mark in BREAKS),
    *(f"a{visible(mark)}{FORGED}{visible(mark)}b" for mark in BREAKS),
    "\x00\x1b[2J\x7f\x9b",
    "DOMAIN\\app",
    OTHERS,
    label_value(OTHERS),
)


def test_lines_are_whole_for_every_reader_and_names_stay_apart(tmp_path: Path) -> None:
    write_home(tmp_path, stories(NAMES), ends((9_000, 100)))
    exporter = Exporter(tmp_path, ExportSettings(has_members=True, groups_max=len(NAMES) - 1))
    exporter.step()
    for is_openmetrics in (False, True):
        text = exporter.text(is_openmetrics=is_openmetrics)
        assert text.decode().splitlines() == text.decode().removesuffix("\n").split("\n")
        found = scraped(text, is_openmetrics=is_openmetrics)["kafka_consumergroup_members"]
        named = {label_value(name) for name in NAMES[:-1]}
        assert len(named) == len(NAMES) - 1
        assert set(found) == {(OTHERS,), *((name,) for name in named)}
    exporter.stop()


def test_hostile_names_of_groups_and_clients_are_shown_and_harmless(tmp_path: Path) -> None:
    exporter = Exporter(hostile(tmp_path), ExportSettings(has_members=True))
    exporter.step()
    text = exporter.text(is_openmetrics=False)
    exporter.stop()
    assert visible(text.decode().replace("\n", "")) == text.decode().replace("\n", "")
    assert set(scraped(text)["kafka_consumergroup_members"]) == {(visible(name),) for name in HOSTILE}


ODD = st.text(
    alphabet=st.one_of(st.sampled_from("\\nrtxu0128569ab()\n\r\x85\u2028\u202e"), st.characters()), max_size=12
)


@given(ODD, ODD)
@example("\n", "\\n")
@example("\\\n", "\\\\n")
@example(OTHERS, "\\x28others)")
def test_two_names_are_two_values(one: str, other: str) -> None:
    assert visible(label_value(one)) == label_value(one)
    assert (label_value(one) == label_value(other)) == (one == other)
    assert label_values((one,)) != label_values((None,))


def test_usual_names_are_themselves() -> None:
    for name in ("orders", "Zahlungen \u00fcber Nacht", "\u6ce8\u6587", "DOMAIN\\app", '{"a": "b"}', ""):
        assert label_value(name) == name
