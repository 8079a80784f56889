"""Finds the browser that the browser tests drive, or installs it where that can be done; `python -m` says which it is.

    CHROMIUM=/path/to/chromium make test-browser     names one

Knows where systems put Chromium. Must not know a page.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys

PATIENCE_S = 240
"""How long Debian's mirror may take for each of two steps."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Nothing but the pages that are asked for; a root's browser has no sandbox to make.
FLAGS = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


def flags() -> list[str]:
    return [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]


def find() -> str | None:
    """The browser's path: what CHROMIUM names, else the first of NAMES that is there."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def install() -> bool:
    """Installs Debian's package, if this system has such and we may."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        return False
    print("Installing Chromium ...", flush=True)
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run([apt, *words], env=environ, capture_output=True, timeout=PATIENCE_S, check=False)
    return find() is not None


def main() -> int:
    if find() is None and not install():
        print(
            "rollcall: no Chromium was found: install it (Debian's package is chromium), or name it with CHROMIUM=.",
            file=sys.stderr,
        )
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
