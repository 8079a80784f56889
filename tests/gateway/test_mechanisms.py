"""The mechanisms by themselves: what a token must be, and what nobody learns from an answer."""

from __future__ import annotations

import base64
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollcall.serve.gateway.sasl import AuthenticationError, conversation
from rollcall.serve.listeners.credentials import ITERATIONS, Credential, Users, credential_of, write_user
from tests.examples import examples
from tests.gateway.logging_in import ScramClient


def test_scram_sha_256_speaks_as_rfc_7677_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = credential_of("pencil", "SCRAM-SHA-256", 4096, base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="))
    users = Users(_written(tmp_path, "user", made))
    monkeypatch.setattr("secrets.token_urlsafe", lambda _: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    server = conversation("SCRAM-SHA-256", users)
    first = server.send(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert first.token == b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = server.send(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert final == (b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", "user")


def _written(folder: Path, name: str, credential: Credential) -> Path:
    keys = (credential.salt, credential.stored_key, credential.server_key)
    path = folder / "users"
    words = [name, credential.mechanism, str(credential.iterations), *(base64.b64encode(k).decode() for k in keys)]
    path.write_text(" ".join(words) + "\n")
    return path


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"p=tls-unique,,n=alice,r=abc",
        b"n,,n=alice",
        b"n,,r=abc",
        b"n,,n=alice,r=",
        b"n,a=bob,n=alice,r=abc",
        b"\xff\xfe",
        b"n,,n=alice,r",
        b"n,,m=ext,n=alice,r=abc",
        b"n,,n=alice,r=abc,m=ext",
        b"n,,n=alice,n=bob,r=abc",
        b"n,,n=alice,r=a,r=b",
    ],
)
def test_a_first_message_that_is_not_scrams_is_refused(token: bytes, users_file: Path) -> None:
    with pytest.raises(AuthenticationError):
        conversation("SCRAM-SHA-256", Users(users_file)).send(token)


@examples(60, 400)
@given(data=st.data())
def test_no_final_message_but_the_right_one_is_taken(data: st.DataObject, users_file: Path) -> None:
    server = conversation("SCRAM-SHA-256", Users(users_file))
    client = ScramClient("SCRAM-SHA-256", "alice", "wonderlan")
    right = client.final(server.send(client.first()).token)
    at = data.draw(st.integers(0, len(right) - 1))
    forged = data.draw(
        st.binary(max_size=80) | st.just(right) | st.just(right[:at]) | st.just(right[:at] + b"x" + right[at + 1 :])
    )
    with pytest.raises(AuthenticationError):
        server.send(forged)


@given(st.binary(max_size=60))
def test_no_plain_token_but_the_right_one_is_taken(token: bytes) -> None:
    class Nobody(Users):
        def __init__(self) -> None:
            pass

        def is_password(self, name: str, password: str) -> bool:
            return False

    with pytest.raises(AuthenticationError):
        conversation("PLAIN", Nobody()).send(token)


def test_an_optional_extension_is_passed_over(users_file: Path) -> None:
    assert conversation("SCRAM-SHA-256", Users(users_file)).send(b"n,,n=alice,r=abc,x=ext").name is None


def test_unknown_users_look_like_known_ones_after_a_restart_too(tmp_path: Path) -> None:
    path = tmp_path / "users"
    write_user(path, "alice", "a")
    again = [Users(path).credential("nobody", "SCRAM-SHA-512").salt for _ in range(2)]
    write_user(path, "bob", "b")
    assert again[0] == again[1] == Users(path).credential("nobody", "SCRAM-SHA-512").salt
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if line[0] != "#"))
    of_an_older_file = [Users(path).credential("nobody", "SCRAM-SHA-512").salt for _ in range(2)]
    assert of_an_older_file[0] == of_an_older_file[1]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_unknown_users_have_the_iterations_and_the_salts_length_of_known_ones(mechanism: str, tmp_path: Path) -> None:
    salt = b"short"
    path = _written(tmp_path, "user", credential_of("pencil", mechanism, 5000, salt))
    for name in ("x", "y", "z"):
        nobody = Users(path).credential(name, mechanism)
        assert (nobody.iterations, len(nobody.salt)) == (5000, len(salt))


OF_MANY_KINDS = {"rare": ("SCRAM-SHA-256", 40_000), "other": ("SCRAM-SHA-512", 5000)} | {
    f"user-{n}": ("SCRAM-SHA-256", 4096) for n in range(30)
}


def _of_many_kinds(folder: Path) -> Users:
    blank = base64.b64encode(bytes(32)).decode()
    path = folder / "users"
    path.write_text(
        "# keep this line, by which unknown users look like known ones: ab\n"
        + "".join(f"{name} {by} {count} {blank} {blank} {blank}\n" for name, (by, count) in OF_MANY_KINDS.items())
    )
    return Users(path)


def test_every_password_is_checked_with_as_much_work_whatever_its_users_iterations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = _of_many_kinds(tmp_path)
    work: Counter[str] = Counter()

    def count(name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
        work[name] += iterations
        return b"x" * 32

    monkeypatch.setattr("hashlib.pbkdf2_hmac", count)
    taken = []
    for name in (*OF_MANY_KINDS, *(f"nobody-{n}" for n in range(30))):
        work.clear()
        assert not users.is_password(name, "wrong")
        taken.append(dict(work))
    assert taken == [{"sha256": 40_000, "sha512": 5000}] * len(taken)


def test_iterations_that_one_user_has_do_not_give_it_away(tmp_path: Path) -> None:
    users = _of_many_kinds(tmp_path)
    reported = Counter(users.credential(f"nobody-{n}", "SCRAM-SHA-256").iterations for n in range(200))
    assert reported.keys() == {4096, 40_000}
    assert min(reported.values()) > 50


def test_a_user_that_is_added_changes_what_most_unknown_ones_are_answered_in_nothing(tmp_path: Path) -> None:
    users = _of_many_kinds(tmp_path)
    names = [f"nobody-{n}" for n in range(200)]
    before = [users.credential(name, "SCRAM-SHA-256").iterations for name in names]
    path = tmp_path / "users"
    write_user(path, "user-again", "secret")
    after = [Users(path).credential(name, "SCRAM-SHA-256").iterations for name in names]
    changed = {(old, new) for old, new in zip(before, after, strict=True) if old != new}
    assert {new for _, new in changed} == {ITERATIONS}
