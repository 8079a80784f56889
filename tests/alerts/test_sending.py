"""Whatever a receiver or a command does, it costs a moment; where a POST may go is the operator's to say."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rollcall.serve.alerts import sending
from rollcall.serve.alerts.sending import NotTaken, Reach, post, run
from tests.alerts.misbehaving import BEHAVIOURS, Server, receiving
from tests.waiting import until

NEVER_DONE = ("hangs", "drips", "drips_headers", "drips_a_body")
"""Behaviours that only a deadline ends."""


@pytest.fixture
def server() -> Iterator[Server]:
    with receiving() as found:
        yield found


@pytest.mark.parametrize("behaves", BEHAVIOURS)
def test_a_receiver_that_misbehaves_costs_a_moment(
    server: Server, behaves: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "DEADLINE_S", 0.5 if behaves in NEVER_DONE else 60)
    server.behaves = behaves
    if behaves == "answers_a_gigabyte":
        assert post(f"{server.address}/secret", {}, b"{}").startswith("200 x")
    else:
        with pytest.raises(NotTaken) as failure:
            post(f"{server.address}/secret", {}, b"{}")
        assert "secret" not in str(failure.value)
        assert str(failure.value).startswith(
            {"403": "answered 403 who are you?", "redirects": "answered 307"}.get(
                behaves, "did not answer within 0.5 s" if behaves in NEVER_DONE else ""
            )
        )
    assert server.taken == []


def test_the_user_and_password_of_an_address_log_in(server: Server) -> None:
    host = server.address.removeprefix("http://")
    assert post(f"http://al%20ice:p%40ss@{host}/a", {}, b"{}") == "200 ok"
    post(f"http://{host}/a", {}, b"{}")
    logins = [headers.get("Authorization") for _, headers, _ in server.taken]
    assert logins == ["Basic " + base64.b64encode(b"al ice:p@ss").decode(), None]


@pytest.mark.parametrize("status", [400, 401, 404, 408, 410, 413, 429, 500, 503])
def test_a_refusal_that_no_other_try_mends_is_final(server: Server, status: int) -> None:
    server.behaves = str(status)
    with pytest.raises(NotTaken, match=rf"^answered {status} ") as failure:
        post(f"{server.address}/a", {}, b"{}")
    assert failure.value.is_final is (status not in (408, 429, 500, 503))


def test_a_tls_receiver_that_says_nothing_costs_a_moment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "DEADLINE_S", 0.3)
    with pytest.raises(NotTaken):
        post(server.address.replace("http:", "https:") + "/secret", {}, b"{}")


def test_redirects_are_followed_where_the_operator_says_so(server: Server) -> None:
    server.behaves = "redirects"
    assert post(f"{server.address}/a", {"X-Signed": "s"}, b"{}", Reach(follows=True)) == "200 ok"
    (taken,) = server.taken
    assert (taken[0], taken[1]["X-Signed"], taken[2], server.moved) == ("/elsewhere", "s", b"{}", ["/a", "/elsewhere"])
    server.behaves, server.moved = "redirects_forever", []
    with pytest.raises(NotTaken, match=r"^answered 307$"):
        post(f"{server.address}/a", {}, b"{}", Reach(follows=True))
    assert len(server.moved) == 1 + sending.MOST_REDIRECTS
    server.behaves = "redirects_to_a_file"
    with pytest.raises(NotTaken, match=r"^answered 301, a redirect to no address of http or https$"):
        post(f"{server.address}/a", {}, b"{}", Reach(follows=True))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "10.1.2.3", "169.254.169.254", "[::ffff:127.0.0.1]"]
)
def test_nothing_is_sent_to_private_addresses_where_the_operator_says_so(server: Server, host: str) -> None:
    with pytest.raises(NotTaken, match=r"^is at a private address, to which nothing is sent$"):
        post(f"http://{host}:{server.server_address[1]}/a", {}, b"{}", Reach(to_private=False))
    assert server.taken == []


# ---------------------------------------------------------------- a command


def python(script: str) -> list[str]:
    return [sys.executable, "-S", "-c", script]


def test_a_command_gets_its_arguments_as_they_are_and_what_is_reported_on_its_input() -> None:
    script = "import sys; print(sys.argv[1:], len(sys.stdin.buffer.read()))"
    said = run([*python(script), "$(touch x); `id`", "a b"], b"x" * 300_000, 60)
    assert said == "exit status 0 ['$(touch x); `id`', 'a b'] 300000"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("import time; time.sleep(300)", "did not end within 0.5 s"),
        ("import os, time; os.close(1); os.close(2); time.sleep(300)", "did not end within 0.5 s"),
        ("while True: print('x' * 1000)", "did not end within 0.5 s"),
        ("import sys; print('no such team'); sys.exit(3)", "exit status 3 no such team"),
        ("import os; os.kill(os.getpid(), 9)", "exit status -9"),
    ],
)
def test_a_command_that_misbehaves_costs_a_moment(script: str, says: str) -> None:
    with pytest.raises(NotTaken) as failure:
        run(python(script), b"{}", 0.5 if "0.5" in says else 60)
    assert str(failure.value) == says


def test_what_a_command_started_ends_with_it(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); "
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(p.pid)); sys.stdout.flush()"
    )
    assert run(python(script), b"{}", 5).startswith("exit status 0")
    pid = int((tmp_path / "pid").read_text())
    until(lambda: not is_there(pid), "the command's own child has ended")


def is_there(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_command_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotTaken, match=r"^cannot be run: No such file or directory$"):
        run([str(tmp_path / "secret")], b"{}", 1)
    (tmp_path / "file").write_text("")
    os.chmod(tmp_path / "file", 0o600)
    with pytest.raises(NotTaken, match=r"^cannot be run: Permission denied$"):
        run([str(tmp_path / "file")], b"{}", 1)
