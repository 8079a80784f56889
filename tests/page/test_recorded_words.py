"""Every page of every recorded home, of either protocol and either input, in words that a stranger reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rollcall.answers.views.catalog import DETECTORS
from rollcall.schemas.causes import CAUSES
from tests.offsets_topic.folded import NAMES as DUMPS
from tests.offsets_topic.homes import home_of
from tests.page.asking import Page, asked, slips_in
from tests.views.story import write_effects
from tests.why.reading import CAPTURES, capture

LOGS = sorted(path.parent.name for path in CAPTURES.glob("*/requests.log.gz"))
GROUPS = 4
"""Of each capture at most."""
pytestmark = pytest.mark.nightly
KEYS = re.compile("|".join(rf"\b{key}\b" for key in CAUSES if "_" in key))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Page]:
    """By home and address, the overview, Trouble and every group."""
    found: dict[str, Page] = {}
    for name, home in homes(tmp_path_factory.mktemp("homes")):
        with asked(home) as client:
            groups = {link for link in shown(client, "/").links if link.startswith("/group?")}
            for path in ("/", "/troubles", *sorted(groups)):
                found[f"{name}{path}"] = shown(client, path)
    return found


def homes(folder: Path) -> Iterator[tuple[str, Path]]:
    logs = {f"{name}/{group_id}": rows for name in LOGS for group_id, rows in list(capture(name).items())[:GROUPS]}
    write_effects(folder / "logs", logs)
    yield "logs", folder / "logs"
    yield from ((f"{name} topic", home_of(folder / name, name)) for name in DUMPS)


def shown(client: TestClient, path: str) -> Page:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text[:500]
    return Page(answer.text)


def test_no_page_says_none_or_slips_in_a_plural(pages: dict[str, Page]) -> None:
    assert len(pages) > 40
    rules = [view.rule for view in DETECTORS.values()]
    slips = {path: slips_in(page.text, rules) for path, page in pages.items()}
    assert {path: found for path, found in slips.items() if found} == {}


def test_a_cause_is_reported_in_words_on_every_page(pages: dict[str, Page]) -> None:
    keys = {path: set(KEYS.findall(page.text)) for path, page in pages.items()}
    assert {path: found for path, found in keys.items() if found} == {}


def test_slips_are_found() -> None:
    said = "3 near misss, 1 storms; 12 group; 2 -> 1 members; ended by None; Rejoined: session_expired. None was found."
    assert slips_in(said) == ["misss", "1 storms", "12 group", "None", "oined: session_expired"]
