"""Secrets of receivers: read from files or the environment, and blanked in what others say, however they spell them.

Must not know a receiver's form.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from rollcall.programs.errors import ConfigError
from rollcall.programs.log_lines import tell
from rollcall.serve.alerts.sending import basic, user_of
from rollcall.serve.alerts.settings import PREFIX, VARIABLE_PREFIX

SHORT = 7
"""The longest part of an address that is not taken for a secret: any answer may have such a word."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def secret_of(name: str, path: Path | None) -> str:
    """Return the secret of a file, else of the environment; empty without both. Warn if others may read the file.

    Raises ConfigError: a file and a variable, a file that cannot be read, an empty file.
    """
    variable = variable_of(name)
    from_variable = os.environ.get(variable, "").strip()
    if path is None:
        return from_variable
    setting = f"{PREFIX}{name}.file"
    if from_variable:
        raise ConfigError(f"set either this or {variable} in the environment", setting)
    try:
        found, mode = path.read_text().strip(), path.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {getattr(error, 'strerror', '') or error}", setting, path) from None
    if not found:
        raise ConfigError("is empty", setting, path)
    if mode & _OTHERS:
        tell(f"{setting}={path}: other users have access (mode {stat.S_IMODE(mode):o}); chmod 600", is_error=True)
    return found


def address_of(name: str, path: Path | None) -> str:
    """Return the address of a file, else of the environment; empty without both. Raises ConfigError."""
    address = secret_of(name, path)
    if address and not address.startswith(("http://", "https://")):
        source = variable_of(name) if path is None else f"{PREFIX}{name}.file={path}"
        raise ConfigError(f"{source}: holds no address that begins with https://")
    return address


def variable_of(name: str) -> str:
    """Return the environment variable of a secret: `ROLLCALL_ALERTS_WEBHOOK_SECRET` of `webhook.secret`."""
    return f"{VARIABLE_PREFIX}{name.replace('.', '_').upper()}"


def parts_of(address: str) -> tuple[str, ...]:
    """Return what an answer must not show of a secret address: all of it, what stands behind the host, the login."""
    behind = address.split("/", 3)[3:]
    pieces = [piece for part in behind for piece in (part, *part.split("/"), *re.split(r"[^\w-]+", unquote(part)))]
    return (address, *(piece for piece in pieces if len(piece) > SHORT), *login_of(address))


def login_of(address: str) -> tuple[str, ...]:
    """Return the login of an address, its password, and what HTTP makes of both."""
    try:
        parts = urlsplit(address)
    except ValueError:
        # A delivery to it fails, and says so.
        return ()
    user = user_of(parts)
    if not user:
        return ()
    return (user, parts.netloc.rpartition("@")[0], basic(user), parts.password or "", unquote(parts.password or ""))


def blanked(text: str, secrets: Iterable[str]) -> str:
    """Return the text without the secrets, also where it spells them for an address or for JSON."""
    for secret in sorted({each for one in secrets if one for each in (one, unquote(one))}, key=len, reverse=True):
        text = _pattern(secret).sub("***", text)
    return text


@cache
def _pattern(secret: str) -> re.Pattern[str]:
    return re.compile("".join(f"(?:{'|'.join(_spellings(character))})" for character in secret))


def _spellings(character: str) -> Iterator[str]:
    r"""Yield patterns of `/`, `\/`, `\u002f`, `%2F`, and `%252F`, which is encoded twice."""
    yield rf"\\?{re.escape(character)}"
    units = character.encode("utf-16-be", "surrogatepass")
    yield "".join(rf"\\u(?i:{units[place : place + 2].hex()})" for place in range(0, len(units), 2))
    yield "".join(f"%(?:25)*(?i:{byte:02x})" for byte in character.encode(errors="replace"))
