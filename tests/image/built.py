"""The image, built by buildah from a base of Debian's packages, and its containers in a network of their own.

Knows buildah, debootstrap and Linux' namespaces; must not know what the programs do. Containers share one network
namespace that has loopback alone, as those of one pod do; a container of `chroot` isolation needs no cgroups, so that
this works inside a sandbox as well.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.source_tree import ROOT

NAME = "localhost/rollcall:test"
BASE = "localhost/rollcall-base"
SUITE = "bookworm"
CERTIFICATES = Path("/usr/local/share/ca-certificates")
"""Authorities that this machine trusts beside Debian's: its package mirror may be signed by one."""
NEEDED = ("buildah", "debootstrap", "unshare", "nsenter", "ip")
ENTRANCE = "/opt/rollcall/conf/image/entrypoint.sh"
NOBODY = 65534
HOSTNAME = "localhost"
"""The one name that a namespace without a name server knows."""
BUILD_TIMEOUT_S = 900
STOP_PATIENCE_S = 60


def missing() -> str:
    """What this machine lacks to build an image; empty where it lacks nothing."""
    if os.geteuid() != 0:
        return "root"
    return ", ".join(name for name in NEEDED if shutil.which(name) is None)


class Buildah:
    """buildah with its storage in one folder."""

    def __init__(self, folder: Path) -> None:
        self._storage = ["--root", str(folder / "storage"), "--runroot", str(folder / "run")]

    def command(self, *words: str) -> list[str]:
        return ["buildah", *self._storage, *words]

    def __call__(self, *words: str) -> str:
        """What it prints. Raises AssertionError with its last lines."""
        done = subprocess.run(
            self.command(*words), capture_output=True, text=True, check=False, timeout=BUILD_TIMEOUT_S
        )
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout.strip()

    def make_base(self, folder: Path) -> None:
        """An image like Debian's own slim one, of Debian's packages and the authorities that this machine trusts."""
        root = folder / "base"
        command = ["debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, str(root)]
        subprocess.run(command, check=True, capture_output=True, timeout=BUILD_TIMEOUT_S)
        if CERTIFICATES.is_dir():
            shutil.copytree(CERTIFICATES, root / "usr/local/share/ca-certificates", dirs_exist_ok=True)
        container = self("from", "scratch")
        self("add", "--quiet", container, str(root), "/")
        self("run", "--isolation", "chroot", container, "update-ca-certificates")
        self("commit", "--quiet", "--rm", container, BASE)
        shutil.rmtree(root)

    def build(self, folder: Path) -> None:
        """The image, from what git has of this checkout and what is new in it."""
        source = folder / "source"
        named = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout.split("\0")  # fmt: skip
        for name in filter(None, named):
            if (ROOT / name).is_file() or (ROOT / name).is_symlink():
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
        self(
            *("bud", "--format", "docker", "--isolation", "chroot", "--network", "host", "--build-arg", f"BASE={BASE}"),
            *("--file", str(source / "conf/image/Dockerfile"), "--tag", NAME, str(source)),
        )  # fmt: skip

    def config(self) -> dict[str, Any]:
        """What the image says of its containers: User, Healthcheck and so on."""
        found: dict[str, Any] = json.loads(self("inspect", "--type", "image", NAME))["Docker"]["config"]
        return found


@dataclass
class Container:
    """A program in the image; `log` takes what it prints."""

    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        return self.log.read_text(errors="replace")


class Pod:
    """Containers of the image that share a network of their own and the folder /var/lib/rollcall."""

    def __init__(self, buildah: Buildah, folder: Path) -> None:
        self._buildah, self._folder = buildah, folder
        self.volume = folder / "volume"
        self.volume.mkdir()
        os.chown(self.volume, NOBODY, NOBODY)
        # Its end ends every process of the namespace.
        holder = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self._holder = subprocess.Popen(
            [*holder, "sh", "-c", "ip link set lo up && echo up && exec sleep infinity"], stdout=subprocess.PIPE
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"up\n"
        children = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children").read_text().split()
        self._inside = int(children[0])
        self._logs: list[IO[bytes]] = []
        self._made: list[str] = []

    def _command(self, container: str, words: Sequence[str]) -> list[str]:
        run = ["run", "--isolation", "chroot", "--hostname", HOSTNAME]
        run += ["--volume", f"{self.volume}:/var/lib/rollcall", container, "--"]
        # With the namespace's own /proc, in which Spark finds the processes that it has started.
        entered = ["nsenter", "--target", str(self._inside), "--net", "--pid", "--mount"]
        return [*entered, *self._buildah.command(*run, ENTRANCE, *words)]

    def _container(self) -> str:
        self._made.append(self._buildah("from", NAME))
        return self._made[-1]

    def start(self, name: str, *words: str) -> Container:
        """A container that runs a command until the pod is closed."""
        log = self._folder / f"{name}.log"
        self._logs.append(log.open("wb"))
        process = subprocess.Popen(
            self._command(self._container(), words), stdout=self._logs[-1], stderr=subprocess.STDOUT
        )
        return Container(process, log)

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command in a container of its own, and what it printed."""
        container = self._container()
        return subprocess.run(self._command(container, words), capture_output=True, text=True, check=False)

    def health(self, **environ: str) -> subprocess.CompletedProcess[str]:
        """The image's HEALTHCHECK as a container of the pod runs it. environ: more of its environment."""
        _, *words = self._buildah.config()["Healthcheck"]["Test"]
        return self.ask("env", *(f"{name}={value}" for name, value in environ.items()), *words)

    def close(self) -> None:
        """Ends the namespace's processes, and takes away what was made."""
        self._holder.send_signal(signal.SIGKILL)
        self._holder.wait(STOP_PATIENCE_S)
        for log in self._logs:
            log.close()
        for container in self._made:
            subprocess.run(self._buildah.command("rm", container), capture_output=True, check=False)
