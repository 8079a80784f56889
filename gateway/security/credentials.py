"""Salted hashes of passwords as SCRAM keeps them (RFC 5802), and the file of users that holds them.

One line a user and mechanism: `name mechanism iterations salt stored_key server_key`, the last three as base64. With
it a password can be checked and a SCRAM client be answered; the password cannot be read from it.

Knows hashes and the file; knows no conversation.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path

from programs.errors import ConfigError

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
ITERATIONS = 16_384
MIN_ITERATIONS = 4096
_SALT_BYTES = 16


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


class Users:
    """The users of a file, read again when the file has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_of = (-1, -1)
        self._secret = secrets.token_bytes(32)
        self._refresh()

    def credential(self, name: str, mechanism: str) -> Credential:
        """A user's credential; of an unknown user one that no password fits, the same each time."""
        self._refresh()
        return self._known.get((name, mechanism)) or self._unfitting(name, mechanism)

    def is_password(self, name: str, password: str) -> bool:
        """Whether it is a user's password. Takes as long for an unknown user."""
        self._refresh()
        known = [self._known[key] for mechanism in HASHES if (key := (name, mechanism)) in self._known]
        return (known or [self._unfitting(name, "SCRAM-SHA-256")])[0].is_of(password)

    def _unfitting(self, name: str, mechanism: str) -> Credential:
        salt = hmac.digest(self._secret, name.encode(), "sha256")[:_SALT_BYTES]
        size = hashlib.new(HASHES[mechanism]).digest_size
        return Credential(mechanism, ITERATIONS, salt, secrets.token_bytes(size), secrets.token_bytes(size))

    def _refresh(self) -> None:
        """Reads the file if it has changed. Raises ConfigError at first; later an unfit file leaves the users be."""
        try:
            found = self._path.stat()
            if (found.st_mtime_ns, found.st_size) == self._read_of:
                return
            self._known = read_users(self._path)
            self._read_of = (found.st_mtime_ns, found.st_size)
        except OSError as error:
            if self._read_of == (-1, -1):
                raise ConfigError(f"{self._path}: cannot be read: {error.strerror}") from None
        except ConfigError:
            if self._read_of == (-1, -1):
                raise


def read_users(path: Path) -> dict[tuple[str, str], Credential]:
    """The credentials of a file by (name, mechanism). Raises OSError; ConfigError, naming the line."""
    known = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            name, credential = _parse(f"{path} line {number}", line)
            known[name, credential.mechanism] = credential
    return known


def _parse(where: str, line: str) -> tuple[str, Credential]:
    words = line.split(" ")
    if len(words) != 6:
        raise ConfigError(f"{where}: is not of the form name mechanism iterations salt stored_key server_key")
    name, mechanism, iterations, *keys = words
    if mechanism not in HASHES:
        raise ConfigError(f"{where}: {mechanism!r} is none of {', '.join(HASHES)}")
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
    known = read_users(path) if path.exists() else {}
    known = {key: credential for key, credential in known.items() if key[0] != name}
    if password is not None:
        known |= {(name, mechanism): credential_of(password, mechanism) for mechanism in HASHES}
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.writelines(_line(user, credential) for (user, _), credential in sorted(known.items()))
    os.replace(beside, path)


def _line(name: str, credential: Credential) -> str:
    keys = (credential.salt, credential.stored_key, credential.server_key)
    words = [name, credential.mechanism, str(credential.iterations), *(base64.b64encode(key).decode() for key in keys)]
    return " ".join(words) + "\n"
