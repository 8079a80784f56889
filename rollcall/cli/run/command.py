"""`make run`: runs the coordinator, a gateway and a demo fleet until Ctrl-C, and shows what the groups do.

    rollcall run          `rollcall.cli.run.choices` has its options

At the end it says where the tables are, and answers one question in SQL. Exit status 0 when stopped, else that of the
coordinator. Knows which programs are started and in which order they end. Must not know what they do.
"""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live

from rollcall.answers.sql.named_partitions import named_partitions
from rollcall.cli.run.children import Child, end_all
from rollcall.cli.run.choices import Choices, RunOptions, choices, reachable
from rollcall.cli.run.demo_plan import FLEET, KILL_AFTER_S, RECORDS_PER_SECOND, TOPICS
from rollcall.cli.run.servers import CoordinatorProcess, GatewayProcess, KeptPage, PageProcess
from rollcall.jobs.spark.archive import NICED
from rollcall.programs.child_python import module_command, module_environment
from rollcall.programs.errors import UserError
from rollcall.programs.guardian import guard
from rollcall.programs.terminal import ROLLCALL, Teller, Terminal
from rollcall.serve.gateway.settings import Settings
from rollcall.tables.home import DEFAULT_HOME, LOGS_FOLDER, Home, HomeError
from rollcall.tables.versions import is_table

if TYPE_CHECKING:
    from rollcall.inputs.following.log_ends_sampler import LogEndsSampler
    from rollcall.shown.watch import Watch

START_PATIENCE_S = 180.0
FLEET_PATIENCE_S = 15.0
SERVER_PATIENCE_S = 90.0
PAGE_PATIENCE_S = 30.0
LOOK_EVERY_S = 0.25
_SENTENCE = "rollcall: "
"""The beginning of what a program says that does not start; its log says no more."""
ARCHIVE_AFTER_S = 20.0
"""When a machine's first run makes the archive of Spark's classes for the next one: its groups are Stable then."""
QUESTION = (
    "select group_id, to_generation_id, cause, cause_client_id, duration_ms, members_after, outcome "
    "from rebalances order by started_at"
)


class Run:
    """One run of all programs. status: the exit status, once they have ended."""

    def __init__(self, choices: Choices, console: Console) -> None:
        self._choices = choices
        self._home = choices.home
        self._logs = choices.home.path / LOGS_FOLDER
        self._is_new = not choices.home.path.exists()
        self._console = console
        self._teller = Teller(console)
        self._stop = threading.Event()
        self._was_terminated = False
        self._fleet: list[Child] = []
        self._servers: list[Child] = []
        self._page: KeptPage | None = None
        self._at_work_since: dict[str, float] = {}
        self._archive: Child | None = None
        self._sampler: LogEndsSampler | None = None
        self.status = 0

    def ask_to_stop(self, number: int, _: object) -> None:
        """End the run at a signal."""
        self._was_terminated = number == signal.SIGTERM
        self._stop.set()

    def go(self) -> None:
        """Start the programs, watch them, end them. Raises UserError: one did not start, or ended on its own."""
        self._choices.refuse_what_is_in_use()
        try:
            self._logs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HomeError(f"{self._home.shown} cannot be a home: {error.strerror}.") from None
        page: PageProcess | None = None
        try:
            coordinator = CoordinatorProcess(self._home, *self._choices.coordinator)
            from rollcall.shown.watch import Watch  # Takes a second, in which the coordinator starts.

            self._await(coordinator, "Spark takes a few seconds")
            self._teller.say(f"The coordinator runs on {self._home.shown}; Ctrl-C stops it.")
            watch = Watch(self._home.path)
            page = self._start_page()
            if self._choices.settings is not None and not self._stop.is_set():
                self._open_for_clients(self._choices.settings)
            if page is not None:
                self._await_page(page)
            self._watch(watch)
        finally:
            if self._archive is not None:
                self._archive.kill()
            end_all(self._fleet, FLEET_PATIENCE_S)
            if self._sampler is not None:
                self._sampler.stop()
            if self._page is not None:
                self._page.end(SERVER_PATIENCE_S)
            elif page is not None:
                page.end(SERVER_PATIENCE_S)
            for server in reversed(self._servers):
                server.end(SERVER_PATIENCE_S)

    def tell_where(self) -> None:
        """Prints where the tables are and, unless SIGTERM ended the run, one answer in SQL."""
        self._teller.say(f"The tables are in {self._home.shown} (requests, effects, quarantine).")
        home = "" if self._home.shown == DEFAULT_HOME else f" --home {self._home.shown}"
        self._teller.say(f'Ask again: {ROLLCALL} sql "{QUESTION}"{home}')
        if not self._was_terminated:
            sql = module_command("rollcall", "sql", "--home", self._home.location, QUESTION)
            subprocess.run(sql, check=False, stderr=subprocess.DEVNULL, env=module_environment())

    def _await(self, server: CoordinatorProcess | GatewayProcess, what_takes_time: str) -> None:
        """Waits until it is ready or the run is to stop. Raises UserError: it has ended, or takes too long."""
        self._servers.append(server)
        until = time.monotonic() + START_PATIENCE_S
        with _status(self._console, self._teller, f"starting the {server.name} ({what_takes_time})"):
            while not server.is_ready and not self._stop.wait(LOOK_EVERY_S):
                if server.status is not None:
                    self.status = server.status or 1
                    words = server.last_words()
                    if self._is_new and words.startswith(_SENTENCE):
                        self._home.remove_logs_without_note()
                    raise UserError(words.removeprefix(_SENTENCE))
                if time.monotonic() > until:
                    raise UserError(
                        f"the {server.name} did not start within {START_PATIENCE_S:.0f} s: see {server.log}."
                    )

    def _start_page(self) -> PageProcess | None:
        """The page, which gets ready while a gateway does."""
        if self._choices.page is None or self._stop.is_set():
            return None
        return PageProcess(self._home, *self._choices.page)

    def _await_page(self, page: PageProcess) -> None:
        """Continue without a page if its port is in use."""
        assert self._choices.page is not None
        until = time.monotonic() + PAGE_PATIENCE_S
        while not page.is_ready and page.status is None and time.monotonic() < until:
            if self._stop.wait(LOOK_EVERY_S):
                break
        if page.is_ready:
            start = partial(PageProcess, self._home, *self._choices.page)
            self._page = KeptPage(page, start, self._teller.say)
            self._teller.say(f"The page is at {page.address}")
        else:
            page.end(SERVER_PATIENCE_S)
            self._teller.say(f"The page stays out: {page.last_words().removeprefix('rollcall: ')}")

    def _open_for_clients(self, settings: Settings) -> None:
        """Starts a gateway, and the demo fleet that connects to it."""
        growth = growth_words(self._home) if self._choices.has_demo else ()
        gateway = GatewayProcess(self._home, *self._choices.gateway, *growth)
        self._await(gateway, "it opens its port")
        address = gateway.address
        if address is None:
            return
        topics = ", ".join(f"{topic} ({count})" for topic, count in settings.topics.items())
        topics = topics or "none, see --topics"
        self._teller.say(f"Kafka's clients join on {address}; topics and their partitions: {topics}.")
        if self._choices.why_no_demo:
            self._teller.say(f"The demo fleet stays out: {self._choices.why_no_demo}.")
        if self._choices.has_demo:
            self._start_fleet(str(reachable(address)))

    def _start_fleet(self, bootstrap: str) -> None:
        for group in FLEET:
            base = ["rollcall.cli.run.demo_fleet", "--bootstrap", bootstrap, "--group", group.group_id]
            self._fleet.append(Child(group.group_id, base, self._logs / f"{group.group_id}.log"))
            for alone in (member.client_id for member in group.members if member.is_alone):
                self._fleet.append(Child(alone, [*base, "--only", alone], self._logs / f"{alone}.log"))
        self._sampler = ends_sampler(self._home, bootstrap)
        self._sampler.start()

    def _watch(self, watch: Watch) -> None:
        started = time.monotonic()
        with _screen(self._console, watch, self._teller) as show:
            while not self._stop.wait(LOOK_EVERY_S) and time.monotonic() - started < self._choices.seconds:
                show()
                self._kill_whose_time_has_come(watch)
                if self._page is not None:
                    self._teller.attempt(self._page.look)
                if self._archive is None and time.monotonic() - started > ARCHIVE_AFTER_S:
                    self._archive = Child("archive", ["rollcall.jobs.spark.archive", NICED], self._logs / "archive.log")
                for server in (server for server in self._servers if server.status is not None):
                    self.status = server.status or 1
                    raise UserError(f"the {server.name} has ended: {server.last_words().removeprefix('rollcall: ')}")
            show()

    def _kill_whose_time_has_come(self, watch: Watch) -> None:
        """Kills a member that is a process of its own, some seconds after it is at work with the others."""
        for child in self._fleet:
            group = watch.group_at_work_with(child.name)
            if group is not None:
                since = self._at_work_since.setdefault(child.name, time.monotonic())
                if time.monotonic() - since > KILL_AFTER_S:
                    child.kill()


@contextmanager
def _status(console: Console, teller: Teller, text: str) -> Iterator[None]:
    """A line that moves on a terminal for a while, if it can be shown."""
    status = console.status(text)
    teller.attempt(status.start)
    try:
        yield
    finally:
        teller.attempt(status.stop)


class _screen:
    """A live screen on a terminal, otherwise plain lines. Each call shows the news since the last call."""

    def __init__(self, console: Console, watch: Watch, teller: Teller) -> None:
        self._watch = watch
        self._teller = teller
        self._live = Live(watch.screen(), console=console, refresh_per_second=4) if console.is_terminal else None

    def __enter__(self) -> _screen:
        if self._live is not None:
            self._teller.attempt(self._live.start)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._teller.attempt(self._live.stop)

    def __call__(self) -> None:
        self._teller.attempt(self._show)

    def _show(self) -> None:
        for line in self._watch.look():
            if self._live is None:
                self._teller.say(line)
        if self._live is not None:
            self._live.update(self._watch.screen())


def run_everything(asked: RunOptions) -> int:
    """Runs the programs until a signal. Returns the exit status of a program that has failed, otherwise 0.

    Raises UserError: a program could not start, or has ended.
    """
    guard()
    run = Run(choices(asked, TOPICS), Terminal())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, run.ask_to_stop)
    # A terminal that is closed ends no coordinator.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        run.go()
    except UserError as error:
        error.status = run.status or error.status
        raise
    run.tell_where()
    return run.status


_SAMPLED_EVERY_MS = 2_000
_FIRST_AFTER_MS = 6_000
"""Until the groups are at work: where a log ended before its first sample is unknown, so that lag has no time."""
_REACHED = """select topic, max(reached) from (
  select topic, end_offset as reached from log_ends union all select topic, committed_offset from offsets
) group by topic"""


def growth_words(home: Home) -> tuple[str, ...]:
    """Return the gateway's options for logs that continue where those of the home's history ended."""
    grown_ms = 0
    if is_table(home.effects):
        from rollcall.answers.sql.engine import ask  # Takes half a second.

        reached = {topic: offset or 0 for topic, offset in ask(home.path, _REACHED).rows}
        grown_ms = max(1000 * reached.get(topic, 0) // per_second for topic, per_second in RECORDS_PER_SECOND.items())
    rates = ",".join(f"{topic}:{per_second}" for topic, per_second in RECORDS_PER_SECOND.items())
    since_ms = max(0, int(time.time() * 1000) - (grown_ms or -_FIRST_AFTER_MS))
    return "--set", f"gateway.demo.records.per.second={rates}", "--set", f"gateway.demo.since.ms={since_ms}"


def ends_sampler(home: Home, bootstrap: str) -> LogEndsSampler:
    """Return what asks the gateway for the ends of logs, as it would ask a cluster."""
    # Imported here: only the demo needs a Kafka client in this process.
    from rollcall.inputs.following.listed_offsets import ListedOffsets
    from rollcall.inputs.following.log_ends_sampler import LogEndsSampler

    return LogEndsSampler(home, ListedOffsets({"bootstrap.servers": bootstrap}), named_partitions, _SAMPLED_EVERY_MS)
