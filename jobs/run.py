"""`make run`: the coordinator, a demo fleet if wanted, and what the groups do on the terminal, until Ctrl-C.

    python -m jobs.run          ROLLCALL_HOME, CONF, DEMO=0, DEMO_SECONDS come from the environment

At the end it says where the tables are, and answers one question in SQL. Exit status 0 when stopped, else what the
coordinator ended with. Knows which programs are started and in which order they end; must not know what they do.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.live import Live

from jobs.children import Child, end_all
from jobs.demo_fleet import FLEET, KILL_AFTER_S
from jobs.home import Home, HomeError
from jobs.preflight import Missing
from jobs.watch import Watch

START_PATIENCE_S = 180.0
FLEET_PATIENCE_S = 15.0
COORDINATOR_PATIENCE_S = 90.0
LOOK_EVERY_S = 0.25
QUESTION = (
    "select group_id, to_generation_id, cause, cause_client_id, duration_ms, members_after, outcome "
    "from rebalances order by started_at"
)


class Run:
    """One run of everything. status: the exit status once it is over."""

    def __init__(self, home: Home, environ: Mapping[str, str], console: Console) -> None:
        self._home = home
        self._logs = home.path / "logs"
        self._environ = environ
        self._console = console
        self._stop = threading.Event()
        self._was_terminated = False
        self._fleet: list[Child] = []
        self._at_work_since: dict[str, float] = {}
        self.status = 0

    def ask_to_stop(self, number: int, _: object) -> None:
        """A signal handler."""
        self._was_terminated = number == signal.SIGTERM
        self._stop.set()

    def go(self) -> None:
        """Starts, watches, ends. Raises Missing: the coordinator could not start, in its own words."""
        arguments = ["jobs.coordinator", "--home", self._home.location]
        if self._environ.get("CONF"):
            arguments += ["--conf-file", self._environ["CONF"]]
        try:
            self._logs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HomeError(f"{self._home.shown} cannot be a home: {error.strerror}.") from None
        coordinator = Child("coordinator", arguments, self._logs / "coordinator.log")
        try:
            self._await_ready(coordinator)
            if self._stop.is_set():
                return
            watch = Watch(self._home.path)
            self._start_fleet()
            self._watch(coordinator, watch)
        finally:
            end_all(self._fleet, FLEET_PATIENCE_S)
            coordinator.end(COORDINATOR_PATIENCE_S)

    def tell_where(self) -> None:
        """Where the tables are, and one answer in SQL; after SIGTERM the command alone."""
        self._say(f"The tables are in {self._home.shown} (requests, effects, quarantine).")
        home = "" if not self._environ.get("ROLLCALL_HOME") else f" ROLLCALL_HOME={self._home.shown}"
        self._say(f'Ask again: make sql Q="{QUESTION}"{home}')
        if not self._was_terminated:
            sql = [sys.executable, "-m", "jobs.sql", "--home", self._home.location, QUESTION]
            subprocess.run(sql, check=False, stderr=subprocess.DEVNULL)

    def _say(self, line: str) -> None:
        self._console.print(line, highlight=False, soft_wrap=True)

    def _await_ready(self, coordinator: Child) -> None:
        until = time.monotonic() + START_PATIENCE_S
        with self._console.status("starting the coordinator (Spark takes a few seconds)"):
            while not self._stop.wait(LOOK_EVERY_S):
                if coordinator.status is not None:
                    self.status = coordinator.status or 1
                    raise Missing(coordinator.last_words().removeprefix("rollcall: "))
                if self._is_running(coordinator.pid):
                    break
                if time.monotonic() > until:
                    raise Missing(
                        f"the coordinator did not start within {START_PATIENCE_S:.0f} s: see {coordinator.log}."
                    )
        self._say(f"The coordinator runs on {self._home.shown}; Ctrl-C stops it.")

    def _is_running(self, pid: int) -> bool:
        try:
            status = json.loads((self._home.path / "status.json").read_text())
        except (OSError, ValueError):
            return False
        return bool(status["process"] == pid and status["state"] == "running")

    def _start_fleet(self) -> None:
        if self._environ.get("DEMO") == "0":
            return
        for group in FLEET:
            base = ["jobs.demo_fleet", "--home", self._home.location, "--group", group.group_id]
            self._fleet.append(Child(group.group_id, base, self._logs / f"{group.group_id}.log"))
            for alone in (member.client_id for member in group.members if member.is_alone):
                self._fleet.append(Child(alone, [*base, "--only", alone], self._logs / f"{alone}.log"))

    def _watch(self, coordinator: Child, watch: Watch) -> None:
        started = time.monotonic()
        seconds = float(self._environ.get("DEMO_SECONDS") or "inf")
        with _screen(self._console, watch) as show:
            while not self._stop.wait(LOOK_EVERY_S) and time.monotonic() - started < seconds:
                show(watch.look())
                self._kill_whose_time_has_come(watch)
                if coordinator.status is not None:
                    self.status = coordinator.status or 1
                    raise Missing(f"the coordinator has ended: {coordinator.last_words().removeprefix('rollcall: ')}")
            show(watch.look())

    def _kill_whose_time_has_come(self, watch: Watch) -> None:
        """SIGKILL to a member that is a process of its own, some seconds after it has taken up work with the others."""
        for child in self._fleet:
            group = watch.group_at_work_with(child.name)
            if group is not None:
                since = self._at_work_since.setdefault(child.name, time.monotonic())
                if time.monotonic() - since > KILL_AFTER_S:
                    child.kill()


class _screen:
    """A live screen on a terminal, plain lines anywhere else."""

    def __init__(self, console: Console, watch: Watch) -> None:
        self._console = console
        self._watch = watch
        self._live = Live(watch.screen(), console=console, refresh_per_second=4) if console.is_terminal else None

    def __enter__(self) -> _screen:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, lines: Iterator[str]) -> None:
        for line in lines:
            if self._live is None:
                self._console.print(line, highlight=False, soft_wrap=True)
        if self._live is not None:
            self._live.update(self._watch.screen())


def main() -> int:
    """Exit status: see above."""
    console = Console()
    home = Home.from_environment()
    try:
        run = Run(home, os.environ, console)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, run.ask_to_stop)
        run.go()
    except Missing as error:
        print(f"rollcall: {error}", file=sys.stderr)
        return run.status or 2
    run.tell_where()
    return run.status


if __name__ == "__main__":
    sys.exit(main())
