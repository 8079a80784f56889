"""The file of users and its command."""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path

import pytest

from rollcall.programs.errors import ConfigError
from rollcall.serve.listeners import users as users_command
from rollcall.serve.listeners.credentials import Users, read_users, write_user


def test_the_file_holds_no_password_and_is_its_owners_alone(users_file: Path) -> None:
    text = users_file.read_text()
    assert "wonderland" not in text
    assert base64.b64encode(b"wonderland").decode() not in text
    assert users_file.stat().st_mode & 0o077 == 0
    assert {name for name, _ in read_users(users_file)} == {"alice", "b=o,b"}


def test_two_users_with_one_password_have_nothing_in_common(tmp_path: Path) -> None:
    for name in ("alice", "bob"):
        write_user(tmp_path / "users", name, "same")
    known = read_users(tmp_path / "users").values()
    assert len({credential.salt for credential in known}) == len({c.stored_key for c in known}) == 4


def test_a_change_of_the_file_counts_at_once_and_an_unfit_one_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "users"
    write_user(path, "alice", "old")
    users = Users(path)
    assert users.is_password("alice", "old")
    write_user(path, "alice", "newer")
    assert not users.is_password("alice", "old")
    path.write_text("nonsense\n")
    assert users.is_password("alice", "newer")
    path.unlink()
    assert users.is_password("alice", "newer")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("alice SCRAM-SHA-256 4096 AAAA AAAA", "line 2: is not of the form"),
        ("alice MD5 4096 AAAA AAAA AAAA", "'MD5' is not one of SCRAM-SHA-256, SCRAM-SHA-512"),
        ("alice SCRAM-SHA-256 4095 AAAA AAAA AAAA", "'4095' iterations: at least 4096"),
        ("alice SCRAM-SHA-256 4096 ? AAAA AAAA", "salt and keys are not base64"),
    ],
)
def test_an_unfit_line_is_named(line: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text(f"# users\n{line}\n")
    with pytest.raises(ConfigError, match=why):
        Users(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        Users(tmp_path / "nowhere")


def test_users_are_kept_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "users")
    monkeypatch.setattr(sys, "stdin", io.StringIO("wonderland\nlooking glass\n\n"))
    assert users_command.main([path, "add", "alice"]) == 0
    assert users_command.main([path, "add", "bob"]) == 0
    assert Users(Path(path)).is_password("bob", "looking glass")
    assert users_command.main([path, "remove", "alice"]) == 0
    assert users_command.main([path, "list"]) == 0
    assert capsys.readouterr().out == "bob\n"
    assert users_command.main([path, "add", "carol"]) == 2
    assert "the password is empty" in capsys.readouterr().err
    assert users_command.main([path, "add", "two words"]) == 2
    assert "two words" in capsys.readouterr().err
    assert users_command.main([str(tmp_path / "no" / "users"), "list"]) == 2
    assert "No such file" in capsys.readouterr().err
