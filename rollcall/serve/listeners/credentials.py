"""Salted hashes of passwords as SCRAM keeps them (RFC 5802), and the file of users that holds them.

One line a user and mechanism: `name mechanism iterations salt stored_key server_key`, the last three as base64, and a
comment that holds a secret by which unknown users are answered as if they were known. With it a password can be checked
and a SCRAM client be answered; the password cannot be read from it.

Knows hashes and the file; knows no conversation.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rollcall.programs.errors import ConfigError

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
ITERATIONS = 16_384
MIN_ITERATIONS = 4096
_SALT_BYTES = 16
_DECOYS = "# keep this line, by which unknown users look like known ones: "
_DECOYS_BYTES = 32


@dataclass(frozen=True, slots=True)
class Credential:
    """What is kept of a password for one mechanism."""

    mechanism: str
    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    @property
    def hash_name(self) -> str:
        return HASHES[self.mechanism]

    def is_of(self, password: str) -> bool:
        """Whether it was made of this password. Takes some milliseconds on purpose."""
        again = credential_of(password, self.mechanism, self.iterations, self.salt)
        return hmac.compare_digest(again.stored_key, self.stored_key)


def credential_of(password: str, mechanism: str, iterations: int = ITERATIONS, salt: bytes | None = None) -> Credential:
    """The credential of a password, with a salt of its own if none is given."""
    salt = secrets.token_bytes(_SALT_BYTES) if salt is None else salt
    client_key, server_key = keys_of(password, mechanism, iterations, salt)
    stored_key = hashlib.new(HASHES[mechanism], client_key).digest()
    return Credential(mechanism, iterations, salt, stored_key, server_key)


def keys_of(password: str, mechanism: str, iterations: int, salt: bytes) -> tuple[bytes, bytes]:
    """A password's client key and server key. Takes some milliseconds on purpose."""
    name = HASHES[mechanism]
    salted = hashlib.pbkdf2_hmac(name, password.encode(), salt, iterations)
    return hmac.digest(salted, b"Client Key", name), hmac.digest(salted, b"Server Key", name)


class _ScramParameters(NamedTuple):
    """What a client sees of a credential, or how long its check takes."""

    mechanism: str
    iterations: int
    salt_bytes: int


def _kinds(credentials: Iterable[Credential]) -> set[_ScramParameters]:
    return {_ScramParameters(made.mechanism, made.iterations, len(made.salt)) for made in credentials}


class Users:
    """The users of a file, read again when the file has changed.

    An unknown user is answered as a known one with another password would be, so that nobody learns who is known: with
    the same salt each time, also after a restart, and with iterations that some known user has, each number of them as
    often, however few users have it. A password is checked with as much work for every user, known or not.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_of = (-1, -1)
        self._refresh()

    def credential(self, name: str, mechanism: str) -> Credential:
        """A user's credential; of an unknown user one that no password fits, the same each time."""
        self._refresh()
        unfitting = self._unfitting(
            name, mechanism, _kinds(made for (_, by), made in self._by_name.items() if by == mechanism)
        )
        return self._by_name.get((name, mechanism), unfitting)

    def is_password(self, name: str, password: str) -> bool:
        """Whether it is a user's password. Takes as long for every user, known or not."""
        self._refresh()
        kinds = _kinds(self._checked.values())
        made = self._checked.get(name) or self._unfitting(name, "SCRAM-SHA-256", kinds)
        is_of = made.is_of(password)
        for mechanism in {kind.mechanism for kind in kinds}:
            most = max(kind.iterations for kind in kinds if kind.mechanism == mechanism)
            rest = most - (made.iterations if made.mechanism == mechanism else 0)
            if rest:
                keys_of(password, mechanism, rest, made.salt)
        return is_of

    def _unfitting(self, name: str, mechanism: str, kinds: Iterable[_ScramParameters]) -> Credential:
        """A credential of one of some kinds that no password fits."""
        mark = hmac.digest(self._decoys, name.encode(), "sha512")
        # Of those there are the one with the greatest digest: a kind that is new takes its share from all others.
        like = max(
            kinds,
            key=lambda kind: hmac.digest(mark, str(kind).encode(), "sha512"),
            default=_ScramParameters(mechanism, ITERATIONS, _SALT_BYTES),
        )
        salt = hmac.digest(mark, b"salt", "sha512")[: like.salt_bytes]
        size = hashlib.new(HASHES[like.mechanism]).digest_size
        return Credential(like.mechanism, like.iterations, salt, secrets.token_bytes(size), secrets.token_bytes(size))

    def _refresh(self) -> None:
        """Reads the file if it has changed. Raises ConfigError at first; later an unfit file leaves the users be."""
        try:
            found = self._path.stat()
            if (found.st_mtime_ns, found.st_size) == self._read_of:
                return
            self._take(self._path.read_text(encoding="utf-8"))
            self._read_of = (found.st_mtime_ns, found.st_size)
        except OSError as error:
            if self._read_of == (-1, -1):
                raise ConfigError(f"{self._path}: cannot be read: {error.strerror}") from None
        except ConfigError:
            if self._read_of == (-1, -1):
                raise

    def _take(self, text: str) -> None:
        by_name = _users_in(text, self._path)
        self._decoys = _decoys_in(text) or hashlib.sha256(text.encode()).digest()
        self._by_name = by_name
        self._checked = {name: made for (name, _), made in sorted(by_name.items(), reverse=True)}
        """What PLAIN checks a user's password by."""


def read_users(path: Path) -> dict[tuple[str, str], Credential]:
    """The credentials of a file by (name, mechanism). Raises OSError; ConfigError, naming the line."""
    return _users_in(path.read_text(encoding="utf-8"), path)


def _users_in(text: str, path: Path) -> dict[tuple[str, str], Credential]:
    known = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            name, credential = _parse(f"{path} line {number}", line)
            known[name, credential.mechanism] = credential
    return known


def _decoys_in(text: str) -> bytes | None:
    """The secret that the salts of unknown users are made of; None in a file that an older version wrote."""
    line = next((line for line in text.splitlines() if line.startswith(_DECOYS)), None)
    return None if line is None else line.removeprefix(_DECOYS).encode()


def _parse(where: str, line: str) -> tuple[str, Credential]:
    words = line.split(" ")
    if len(words) != 6:
        raise ConfigError(f"{where}: is not of the form name mechanism iterations salt stored_key server_key")
    name, mechanism, iterations, *keys = words
    if mechanism not in HASHES:
        raise ConfigError(f"{where}: {mechanism!r} is not one of {', '.join(HASHES)}")
    if not iterations.isdecimal() or int(iterations) < MIN_ITERATIONS:
        raise ConfigError(f"{where}: {iterations!r} iterations: at least {MIN_ITERATIONS} are asked for")
    try:
        salt, stored_key, server_key = (base64.b64decode(key, validate=True) for key in keys)
    except ValueError:
        raise ConfigError(f"{where}: salt and keys are not base64") from None
    return name, Credential(mechanism, int(iterations), salt, stored_key, server_key)


def check_name(name: str) -> None:
    """Raises ConfigError: the file cannot hold such a name."""
    if not name or any(character.isspace() or character == "#" for character in name):
        raise ConfigError(f"user {name!r}: a name is not empty and has no blank and no #")


def write_user(path: Path, name: str, password: str | None) -> None:
    """Adds a user or gives it another password; None removes it. The file is replaced as a whole, readable by its
    owner alone. Raises OSError and ConfigError."""
    check_name(name)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    known = _users_in(text, path)
    decoys = _decoys_in(text) or secrets.token_hex(_DECOYS_BYTES).encode()
    known = {key: credential for key, credential in known.items() if key[0] != name}
    if password is not None:
        known |= {(name, mechanism): credential_of(password, mechanism) for mechanism in HASHES}
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{_DECOYS}{decoys.decode()}\n")
        file.writelines(_line(user, credential) for (user, _), credential in sorted(known.items()))
    os.replace(beside, path)


def _line(name: str, credential: Credential) -> str:
    keys = (credential.salt, credential.stored_key, credential.server_key)
    words = [name, credential.mechanism, str(credential.iterations), *(base64.b64encode(key).decode() for key in keys)]
    return " ".join(words) + "\n"
