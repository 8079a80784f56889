"""Who gets in: SASL as clients speak it, TLS, the file of users; and what a stranger is told, which is nothing."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import io
import ssl
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway import users as users_command
from gateway.security.credentials import Credential, Users, credential_of, read_users, write_user
from gateway.security.mechanisms import AuthenticationError, Plain, Scram
from gateway.security.tls import principal_of
from programs.errors import ConfigError
from tests.gateway.running import asynchronous, gateway
from tests.gateway.wire_client import Client, heartbeat, join
from tests.waiting import until_true

CERTIFICATES = Path(__file__).parent / "certificates"
MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


@pytest.fixture(scope="module")
def users_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("users") / "users"
    write_user(path, "alice", "wonderland")
    write_user(path, "b=o,b", "pässword")
    return path


class ScramClient:
    """The client's side of SCRAM, written from RFC 5802 apart from the server's."""

    def __init__(self, mechanism: str, name: str, password: str, nonce: str = "fyko+d2lbbFgONRv9qkxdawL") -> None:
        self.hash = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}[mechanism]
        self.password = password
        self.bare = f"n={name.replace('=', '=3D').replace(',', '=2C')},r={nonce}"

    def first(self) -> bytes:
        return f"n,,{self.bare}".encode()

    def final(self, server_first: bytes) -> bytes:
        said = dict(part.split("=", 1) for part in server_first.decode().split(","))
        salt, rounds = base64.b64decode(said["s"]), int(said["i"])
        salted = hashlib.pbkdf2_hmac(self.hash, self.password.encode(), salt, rounds)
        client_key = hmac.new(salted, b"Client Key", self.hash).digest()
        without_proof = f"c=biws,r={said['r']}"
        message = f"{self.bare},{server_first.decode()},{without_proof}".encode()
        signature = hmac.new(hashlib.new(self.hash, client_key).digest(), message, self.hash).digest()
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature, strict=True))).decode()
        server_key = hmac.new(salted, b"Server Key", self.hash).digest()
        self.verifier = b"v=" + base64.b64encode(hmac.new(server_key, message, self.hash).digest())
        return f"{without_proof},p={proof}".encode()


async def log_in(client: Client, mechanism: str, name: str = "alice", password: str = "wonderland") -> Any:
    """The last answer of the attempt."""
    shaken = await client.call("SaslHandshake", 1, mechanism=mechanism)
    if shaken.error_code:
        return shaken
    if mechanism == "PLAIN":
        return await client.call("SaslAuthenticate", 2, auth_bytes=f"\0{name}\0{password}".encode())
    scram = ScramClient(mechanism, name, password)
    first = await client.call("SaslAuthenticate", 2, auth_bytes=scram.first())
    final = await client.call("SaslAuthenticate", 2, auth_bytes=scram.final(first.auth_bytes))
    assert final.error_code or final.auth_bytes == scram.verifier
    return final


# ---------------------------------------------------------------- SASL


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("name", "password"), [("alice", "wonderland"), ("b=o,b", "pässword")])
@asynchronous
async def test_who_knows_the_password_is_let_in_by_name(
    mechanism: str, name: str, password: str, users_file: Path
) -> None:
    async with gateway({"gateway.users": str(users_file)}) as running:
        client = await running.client()
        assert (await log_in(client, mechanism, name, password)).error_code.name == "none"
        assert (await client.call("JoinGroup", 9, **join())).error_code.name == "member_id_required"
        assert running.backend.asked[0].principal == f"User:{name}"


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("name", "password"), [("alice", "wonderlan"), ("nobody", "wonderland"), ("Alice", "wonderland")]
)
@asynchronous
async def test_who_does_not_is_told_no_more_than_that_after_a_while_and_sent_away(
    mechanism: str, name: str, password: str, users_file: Path
) -> None:
    async with gateway({"gateway.users": str(users_file)}) as running:
        client = await running.client()
        began = time.monotonic()
        answer = await log_in(client, mechanism, name, password)
        assert answer.error_code.name == "sasl_authentication_failed"
        assert answer.error_message == "Authentication failed: invalid user name or password"
        assert time.monotonic() - began >= 0.1
        assert await client.is_closed_by_peer()
        assert (await log_in(await running.client(), mechanism)).error_code.name == "none"


@pytest.mark.parametrize("api", ["Metadata", "JoinGroup", "FindCoordinator", "Heartbeat"])
@asynchronous
async def test_before_that_nothing_else_is_answered(api: str, users_file: Path) -> None:
    async with gateway({"gateway.users": str(users_file)}) as running:
        client = await running.client()
        assert 17 in {known.api_key for known in (await client.call("ApiVersions", 0)).api_keys}
        client.send(api, 1)
        assert await client.is_closed_by_peer()
        assert running.backend.asked == []


@asynchronous
async def test_a_pipeline_behind_an_authentication_waits_for_it(users_file: Path) -> None:
    async with gateway({"gateway.users": str(users_file)}) as running:
        client = await running.client()
        client.send("SaslHandshake", 1, mechanism="PLAIN")
        client.send("SaslAuthenticate", 2, auth_bytes=b"\0alice\0wonderland")
        client.send("Heartbeat", 4, **heartbeat())
        for api, version in (("SaslHandshake", 1), ("SaslAuthenticate", 2)):
            await client.receive(api, version)
        assert (await client.receive("Heartbeat", 4))[1].error_code.name == "unknown_member_id"


@asynchronous
async def test_an_unknown_mechanism_is_answered_with_those_there_are(users_file: Path) -> None:
    settings_ = {"gateway.users": str(users_file), "gateway.sasl.mechanisms": "SCRAM-SHA-512"}
    async with gateway(settings_) as running:
        client = await running.client()
        for name in ("PLAIN", "GSSAPI"):
            answer = await client.call("SaslHandshake", 1, mechanism=name)
            assert (answer.error_code.name, answer.mechanisms) == ("unsupported_sasl_mechanism", ("SCRAM-SHA-512",))
        assert (await log_in(client, "SCRAM-SHA-512")).error_code.name == "none"


@asynchronous
async def test_a_token_without_a_handshake_and_a_second_handshake_are_out_of_order(users_file: Path) -> None:
    async with gateway({"gateway.users": str(users_file)}) as running:
        client = await running.client()
        answer = await client.call("SaslAuthenticate", 2, auth_bytes=b"\0alice\0wonderland")
        assert answer.error_code.name == "illegal_sasl_state"
        assert await client.is_closed_by_peer()
        client = await running.client()
        await log_in(client, "PLAIN")
        again = await client.call("SaslHandshake", 1, mechanism="PLAIN")
        assert again.error_code.name == "illegal_sasl_state"


@asynchronous
async def test_who_says_nothing_in_time_is_sent_away(users_file: Path) -> None:
    async with gateway({"gateway.users": str(users_file), "gateway.authentication.timeout.ms": "1"}) as running:
        assert await (await running.client()).is_closed_by_peer()


@asynchronous
async def test_where_nobody_has_to_authenticate_there_is_nothing_to_say() -> None:
    async with gateway() as running:
        client = await running.client()
        assert 17 not in {known.api_key for known in (await client.call("ApiVersions", 0)).api_keys}
        await client.call("JoinGroup", 9, **join())
        assert running.backend.asked[0].principal is None


@asynchronous
async def test_rules_speak_of_the_name_that_was_proven(users_file: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("allow User:alice prefix team-a- ALL\n")
    async with gateway({"gateway.users": str(users_file), "gateway.rules": str(rules)}) as running:
        alice, bob = await running.client(), await running.client()
        await log_in(alice, "SCRAM-SHA-256")
        await log_in(bob, "SCRAM-SHA-256", "b=o,b", "pässword")
        assert (await alice.call("JoinGroup", 9, **join("team-a-x"))).error_code.name == "member_id_required"
        assert (await alice.call("JoinGroup", 9, **join("team-b-x"))).error_code.name == "group_authorization_failed"
        assert (await bob.call("JoinGroup", 9, **join("team-a-x"))).error_code.name == "group_authorization_failed"


# ---------------------------------------------------------------- mechanisms


def test_scram_sha_256_speaks_as_rfc_7677_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = credential_of("pencil", "SCRAM-SHA-256", 4096, base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="))
    users = Users(_written(tmp_path, "user", made))
    monkeypatch.setattr("secrets.token_urlsafe", lambda _: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    server = Scram(users, "SCRAM-SHA-256")
    first = server.step(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert first.token == b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = server.step(
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
    ],
)
def test_a_first_message_that_is_not_scrams_is_refused(token: bytes, users_file: Path) -> None:
    with pytest.raises(AuthenticationError):
        Scram(Users(users_file), "SCRAM-SHA-256").step(token)


@settings(max_examples=200)
@given(data=st.data())
def test_no_final_message_but_the_right_one_is_taken(data: st.DataObject, users_file: Path) -> None:
    server, client = Scram(Users(users_file), "SCRAM-SHA-256"), ScramClient("SCRAM-SHA-256", "alice", "wonderlan")
    right = client.final(server.step(client.first()).token)
    at = data.draw(st.integers(0, len(right) - 1))
    forged = data.draw(
        st.binary(max_size=80) | st.just(right) | st.just(right[:at]) | st.just(right[:at] + b"x" + right[at + 1 :])
    )
    with pytest.raises(AuthenticationError):
        server.step(forged)


@given(st.binary(max_size=60))
def test_no_plain_token_but_the_right_one_is_taken(token: bytes) -> None:
    class Nobody(Users):
        def __init__(self) -> None:
            pass

        def is_password(self, name: str, password: str) -> bool:
            return False

    with pytest.raises(AuthenticationError):
        Plain(Nobody()).step(token)


@pytest.mark.parametrize(
    "token", [b"n,,m=ext,n=alice,r=abc", b"n,,n=alice,r=abc,m=ext", b"n,,n=alice,n=bob,r=abc", b"n,,n=alice,r=a,r=b"]
)
def test_a_mandatory_extension_and_a_letter_said_twice_are_refused(token: bytes, users_file: Path) -> None:
    with pytest.raises(AuthenticationError, match="malformed"):
        Scram(Users(users_file), "SCRAM-SHA-256").step(token)


def test_an_optional_extension_is_passed_over(users_file: Path) -> None:
    assert Scram(Users(users_file), "SCRAM-SHA-256").step(b"n,,n=alice,r=abc,x=ext").name is None


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


def test_an_unknown_users_password_is_checked_with_as_much_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _written(tmp_path, "user", credential_of("pencil", "SCRAM-SHA-512", 5000, b"salt"))
    users, work = Users(path), []

    def count(name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
        work.append((name, iterations))
        return b"x" * 32

    monkeypatch.setattr("hashlib.pbkdf2_hmac", count)
    assert not users.is_password("user", "wrong")
    assert not users.is_password("nobody", "wrong")
    assert work == [("sha512", 5000)] * 2


@asynchronous
async def test_those_who_guess_passwords_keep_nobody_elsewhere_out(users_file: Path) -> None:
    async with gateway({"gateway.users": str(users_file)}) as running:
        guessers = [await running.client(local_addr=("127.0.0.2", 0)) for _ in range(300)]
        for guesser in guessers:
            guesser.send("SaslHandshake", 1, mechanism="PLAIN")
            guesser.send("SaslAuthenticate", 2, auth_bytes=b"\0alice\0guess")
        guesses = [asyncio.create_task(guesser.is_closed_by_peer(60)) for guesser in guessers]
        honest = await running.client(local_addr=("127.0.0.3", 0))
        assert (await log_in(honest, "PLAIN")).error_code.name == "none"
        assert sum(guess.done() for guess in guesses) < 100
        for guess in guesses:
            guess.cancel()


@asynchronous
async def test_before_that_no_long_request_is_read(users_file: Path) -> None:
    async with gateway({"gateway.users": str(users_file)}) as running:
        client = await running.client()
        client.send_raw((16_385).to_bytes(4, "big"))
        assert await client.is_closed_by_peer()
        known = await running.client()
        await log_in(known, "PLAIN")
        known.send("Heartbeat", 4, **heartbeat(member="m" * 20_000))
        assert (await known.receive("Heartbeat", 4))[1].error_code.name == "unknown_member_id"


def test_an_unknown_user_has_the_same_salt_each_time_as_a_known_one_has(users_file: Path) -> None:
    users = Users(users_file)
    nobody = [users.credential("nobody", "SCRAM-SHA-256") for _ in range(2)]
    assert nobody[0].salt == nobody[1].salt
    assert nobody[0].iterations == users.credential("alice", "SCRAM-SHA-256").iterations


# ---------------------------------------------------------------- the file of users


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
        ("alice MD5 4096 AAAA AAAA AAAA", "'MD5' is none of SCRAM-SHA-256, SCRAM-SHA-512"),
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


# ---------------------------------------------------------------- TLS

TLS = {
    "gateway.ssl.certificate": str(CERTIFICATES / "server.pem"),
    "gateway.ssl.key": str(CERTIFICATES / "server.key"),
}


def trusting(certificate: str | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=CERTIFICATES / "ca.pem")
    if certificate is not None:
        context.load_cert_chain(CERTIFICATES / f"{certificate}.pem", CERTIFICATES / f"{certificate}.key")
    return context


@asynchronous
async def test_tls_carries_the_same_protocol() -> None:
    async with gateway(TLS) as running:
        client = await running.client(ssl=trusting())
        assert (await client.call("JoinGroup", 9, **join())).error_code.name == "member_id_required"
        assert running.backend.asked[0].principal is None


@asynchronous
async def test_who_never_finishes_the_handshake_counts_as_well() -> None:
    async with gateway({**TLS, "gateway.max.connections": "3"}) as running:
        silent = [await running.client() for _ in range(3)]
        await until_true(lambda: len(running.server.connections) == 3)
        assert await (await running.client()).is_closed_by_peer()
        silent[0].close()
        await until_true(lambda: len(running.server.connections) == 2)
        client = await running.client(ssl=trusting())
        assert (await client.call("Heartbeat", 4, **heartbeat())).error_code.name == "unknown_member_id"
    await until_true(lambda: len(running.server.connections) == 0)


@pytest.mark.parametrize(
    "garbage", [b"\0\0\0\x0a\0\x12\0\0\0\0\0\1\0\0", b"\x16\x03\x01\xff\xff" + bytes(100), b"x" * 9000]
)
@asynchronous
async def test_what_is_no_tls_ends_its_connection_and_no_other(garbage: bytes) -> None:
    async with gateway(TLS) as running:
        other, client = await running.client(ssl=trusting()), await running.client()
        client.send_raw(garbage)
        assert await client.is_closed_by_peer()
        assert (await other.call("Heartbeat", 4, **heartbeat())).error_code.name == "unknown_member_id"


@asynchronous
async def test_garbage_after_the_handshake_ends_its_connection_and_no_other() -> None:
    async with gateway(TLS) as running:
        other, client = [await running.client(ssl=trusting()) for _ in range(2)]
        client.send_raw(b"GET / HTTP/1.1\r\n\r\n")
        assert await client.is_closed_by_peer()
        assert (await other.call("Heartbeat", 4, **heartbeat())).error_code.name == "unknown_member_id"


@asynchronous
async def test_a_clients_certificate_is_its_name() -> None:
    async with gateway({**TLS, "gateway.ssl.client.ca": str(CERTIFICATES / "ca.pem")}) as running:
        client = await running.client(ssl=trusting("client"))
        await client.call("JoinGroup", 9, **join())
        assert running.backend.asked[0].principal == r"User:CN=alice,O=Rollcall\, tests,C=DE"
        stranger = await running.client(ssl=trusting())
        assert await stranger.is_closed_by_peer() or stranger.reader.at_eof()


def test_no_certificate_is_no_name() -> None:
    assert principal_of(None) is None
    assert principal_of({"subject": ((("commonName", "x"), ("userId", "7")),)}) == "User:CN=x+UID=7"


@asynchronous
async def test_sasl_goes_over_tls(users_file: Path) -> None:
    async with gateway({**TLS, "gateway.users": str(users_file)}) as running:
        client = await running.client(ssl=trusting())
        assert (await log_in(client, "PLAIN")).error_code.name == "none"
        assert (await client.call("Heartbeat", 4, **heartbeat())).error_code.name == "unknown_member_id"


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ({"gateway.ssl.certificate": "/nowhere.pem"}, "gateway.ssl.certificate=/nowhere.pem: No such file"),
        ({"gateway.ssl.certificate": str(CERTIFICATES / "server.key")}, "gateway.ssl.certificate="),
        ({**TLS, "gateway.ssl.client.ca": "/nowhere.pem"}, "gateway.ssl.client.ca=/nowhere.pem: No such file"),
        ({"gateway.users": "/nowhere"}, "/nowhere: cannot be read: No such file"),
        ({"gateway.rules": "/nowhere"}, "/nowhere: cannot be read: No such file"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(pairs: dict[str, str], why: str) -> None:
    async def start() -> None:
        async with gateway(pairs):
            pass

    with pytest.raises(ConfigError, match=why):
        asyncio.run(start())
