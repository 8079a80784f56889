"""Every address with fields that nobody would write: an answer in a sentence, and never an error of the page's own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.page.asking import asked
from tests.page.hostile_requests import FIELDS, GROUP, MOMENTS, PAGES
from tests.views.histories import two_members
from tests.views.story import write_effects


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    home = tmp_path_factory.mktemp("home")
    write_effects(home, {"two": two_members("two").rows})
    with asked(home) as found:
        yield found


@pytest.mark.parametrize("page", PAGES)
def test_no_field_leads_to_an_error_of_the_pages_own(client: TestClient, page: str) -> None:
    """What the application raises, the client raises too."""
    usual = {"group": GROUP, "topic": "t", "partition": "0", "generation": "1"}
    asked_for = [usual | {field: value} for field in PAGES[page] for value in FIELDS[field]]
    if "from" in PAGES[page]:
        spans = itertools.product((MOMENTS[0], MOMENTS[2], MOMENTS[-4]), repeat=2)
        asked_for += [{"from": begin, "to": end} for begin, end in spans]
    statuses = {client.get(page, params=params).status_code for params in asked_for}
    assert statuses <= {200, 400, 404}


@pytest.mark.parametrize(
    "path",
    [
        "/%00",
        "/%ff%fe",
        "/pictures/%ff.svg",
        "/pictures/..%2f..%2fetc%2fpasswd.svg",
        "/answer.%00",
        "/answer.exe",
        "/static/%2e%2e/%2e%2e/app.py",
        "/static/%00",
        f"/static/{'a' * 5000}",
        f"/pictures/{'a' * 5000}.svg",
        f"/{'/a' * 2000}",
        "/?at=%ff%fe&group=%00",
    ],
)
def test_no_path_leads_to_an_error_of_the_pages_own(client: TestClient, path: str) -> None:
    assert client.get(path).status_code in {200, 400, 404}
