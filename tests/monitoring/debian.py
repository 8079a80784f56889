"""Finds Prometheus, its promtool and Alertmanager, or brings Debian's packages; `python -m` says which there are.

A package is unpacked into a folder of the project, not installed, and no daemon starts. Debian's Alertmanager reads its
templates at one place of the system, so they are copied there. Programs of the PATH come first. Must not know what is
asked of them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.source_tree import ROOT

FOLDER = ROOT / "build" / "debian"
NAMES = {
    "prometheus": ("prometheus",),
    "promtool": ("promtool",),
    "alertmanager": ("prometheus-alertmanager", "alertmanager"),
}
"""What each is called: Debian's name, and its makers'."""
PACKAGES = ("prometheus", "prometheus-alertmanager")
TEMPLATES = Path("/usr/share/prometheus/alertmanager")
_OWN_LISTS = ("-o", f"Dir::State::Lists={FOLDER}/lists", "-o", f"Dir::Cache={FOLDER}/cache")


def find(name: str) -> str | None:
    """Where a program is; None: nowhere."""
    ours = str(FOLDER / "usr" / "bin")
    return next(filter(None, (shutil.which(each) or shutil.which(each, path=ours) for each in NAMES[name])), None)


def program(name: str) -> str:
    found = find(name)
    assert found, f"there is no {name}: make test-monitoring brings it"
    return found


def bring() -> None:
    """Unpacks the packages. Raises OSError: this system has no such tools; CalledProcessError: they say no."""
    (FOLDER / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    if not _are_downloaded():
        # What this system knows of packages is old, or was never asked for.
        _quietly("apt-get", *_OWN_LISTS, "update")
        if not _are_downloaded(*_OWN_LISTS):
            raise FileNotFoundError(", ".join(PACKAGES))
    for package in sorted(FOLDER.glob("*.deb")):
        _quietly("dpkg", "-x", str(package), str(FOLDER))
        package.unlink()
    shutil.rmtree(FOLDER / "lists")
    if not TEMPLATES.exists():
        shutil.copytree(FOLDER / TEMPLATES.relative_to("/"), TEMPLATES)


def _are_downloaded(*options: str) -> bool:
    try:
        _quietly("apt-get", *options, "download", *PACKAGES)
    except subprocess.CalledProcessError:
        return False
    return True


def _quietly(*words: str) -> None:
    subprocess.run(words, cwd=FOLDER, check=True, capture_output=True, timeout=300)


def main() -> int:
    if not all(map(find, NAMES)):
        print("Unpacking Debian's packages of Prometheus and Alertmanager ...", flush=True)
        try:
            bring()
        except (OSError, subprocess.SubprocessError) as error:
            print(f"rollcall: Debian's packages could not be had: {error}", file=sys.stderr)
    missing = [name for name in NAMES if find(name) is None]
    if missing:
        print(
            f"rollcall: there is no {', '.join(missing)} on the PATH: install Prometheus and Alertmanager "
            f"(Debian's packages are {' and '.join(PACKAGES)}).",
            file=sys.stderr,
        )
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
