"""Who may ask: names of the host, users, methods; and where a page may be served."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rollcall.programs.errors import ConfigError
from rollcall.serve.listeners.addresses import Address
from rollcall.serve.listeners.credentials import Users, write_user
from rollcall.serve.page.settings import PageSettings
from tests.page.asking import asked
from tests.views.histories import two_members
from tests.views.story import write_effects


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_effects(tmp_path / "home", {"two": two_members().rows})
    return tmp_path / "home"


def test_a_name_that_is_made_to_point_here_gets_nothing(home: Path) -> None:
    with asked(home) as client:
        for host in ("evil.example", "evil.example:8080", "127.0.0.1.evil.example", "", "localhost.evil.example:80"):
            assert client.get("/", headers={"Host": host}).status_code == 421
        for host in ("localhost", "LOCALHOST:8080", "127.0.0.1:8080"):
            assert client.get("/", headers={"Host": host}).status_code == 200


def test_only_reading_is_answered(home: Path) -> None:
    with asked(home) as client:
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            assert client.request(method, "/sql").status_code == 405


def test_another_sites_script_reads_nothing_but_a_link_from_it_opens(home: Path) -> None:
    with asked(home) as client:
        script = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert client.get("/strip.svg", headers=script).status_code == 403
        assert client.get("/", headers=link).status_code == 200
        neighbour = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}
        assert client.get("/strip.svg", headers=neighbour).status_code == 403


@pytest.mark.parametrize("dest", ["iframe", "frame", "embed", "object"])
def test_no_frame_of_another_page_is_filled(home: Path, dest: str) -> None:
    with asked(home) as client:
        for site in ("cross-site", "same-site", "same-origin"):
            framed = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": dest}
            assert client.get("/sql?q=select+1", headers=framed).status_code == 403
        opened = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        assert client.get("/", headers=opened).status_code == 200


def test_where_there_are_users_a_password_is_asked_for(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "users"
    write_user(file, "ann", "right")
    with asked(home, Users(file)) as client:
        unknown: TestClient = client
        answer = unknown.get("/")
        assert (answer.status_code, answer.headers["www-authenticate"].split()[0]) == (401, "Basic")
        for name, password in (("ann", "wrong"), ("bob", "right"), ("", ""), ("ann", "")):
            assert client.get("/", auth=(name, password)).status_code == 401
        assert client.get("/", headers={"Authorization": "Basic !!!"}).status_code == 401
        assert client.get("/", auth=("ann", "right")).status_code == 200
        assert client.get("/static/page.css").status_code == 401


def test_beyond_loopback_users_and_tls_are_asked_for() -> None:
    with pytest.raises(ConfigError, match=r"--page 0\.0\.0\.0:8080: others reach it"):
        PageSettings(listen=Address("0.0.0.0", 8080))
    with pytest.raises(ConfigError, match=r"needs gateway\.users and gateway\.ssl\.certificate"):
        PageSettings(listen=Address("10.1.2.3", 8080), users=Path("users"))
    settings = PageSettings(listen=Address("10.1.2.3", 8080), users=Path("users"), ssl_certificate=Path("chain.pem"))
    assert settings.address(8080) == "https://10.1.2.3:8080/"
    assert settings.hosts == ("10.1.2.3",)
