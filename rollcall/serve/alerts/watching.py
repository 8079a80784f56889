"""Watches a home for troubles, opens and closes alarms, and sends them, each receiver in a thread of its own.

What is to be sent is kept in the home before it is sent. A receiver that does not take it is asked again, at longer and
longer distances, for a day; one that refuses it for good is not. Knows which troubles are sent; must not know how one
is found, nor a receiver's form.
"""

from __future__ import annotations

import fcntl
import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import msgspec
from prometheus_client import CollectorRegistry, Counter

from rollcall.answers.views.view import rank
from rollcall.programs.errors import UserError
from rollcall.programs.repeated import Repeated
from rollcall.serve.alerts.alarm import (
    FILE,
    GROUP_PAGE,
    Alarm,
    DueMessage,
    Event,
    Sent,
    bounded,
    key_of,
    read_kept,
    write_kept,
)
from rollcall.serve.alerts.kind_names import LEFT_OUT
from rollcall.serve.alerts.kinds import Found, found_in, left_out
from rollcall.serve.alerts.queue import LONGEST_PAUSE_MS, LONGEST_WAIT_MS, next_due, surplus, wait_ms
from rollcall.serve.alerts.reason import Reason, reason_of
from rollcall.serve.alerts.receivers import Receiver
from rollcall.serve.alerts.sending import NotTaken
from rollcall.serve.alerts.sent_table import SentTable
from rollcall.serve.alerts.settings import AlertSettings
from rollcall.serve.page.history import History

GIVEN_UP_MS = 24 * 3_600_000
_LOOK_S = 0.2
_MINUTE_MS = 60_000
log = logging.getLogger("rollcall.alerts")


class Alarms:
    """The alarms of one home, which nobody else sends meanwhile."""

    def __init__(
        self,
        home: Path,
        settings: AlertSettings,
        receivers: Sequence[Receiver],
        history: History | None = None,
        registry: CollectorRegistry | None = None,
    ) -> None:
        """history: of the home, kept current by somebody else; None: it is read here. registry: for the metric.

        Raises UserError: the home is read-only, others send its alarms, or what it remembers cannot be read.
        """
        self._home, self._settings = home, settings
        self._receivers = {receiver.name: receiver for receiver in receivers}
        self._lock = threading.Lock()
        try:
            self._lock_file = (home / "alerts.lock").open("w")
        except OSError as error:
            raise UserError(f"{home}: alarms cannot be remembered there: {error.strerror or error}.") from None
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"{home}: another process sends its alarms already") from None
        self.kept = read_kept(home)
        # A former receiver gets nothing.
        self.kept.due = [due for due in self.kept.due if due.receiver in self._receivers]
        self._own = None if history is not None else History(home)
        self._history: History = history if self._own is None else self._own  # type: ignore[assignment]
        self._sent_table = SentTable(home)
        self.kept.sent_count = max(self.kept.sent_count, self._sent_table.count)
        self._minute, self._opened = 0, 0
        self._is_written = True
        self._held = dict[str, DueMessage]()
        """What each receiver is being sent."""
        self._failures = dict.fromkeys(self._receivers, 0)
        """How many messages each receiver did not take, one after the other."""
        self._rests_until_ms = dict.fromkeys(self._receivers, 0)
        means = "Alarms that a receiver will not get: it refused them, or took none for a day"
        self._refused = Counter("rollcall_alerts_refused", means, ["receiver"], registry=registry)
        for name in self._receivers:
            self._refused.labels(name)
        failed = "alarms cannot be looked after just now"
        every_s = settings.interval_ms / 1000
        self._looking = Repeated("alarms", every_s, self._look, lambda _: log.exception(failed), is_at_once=True)
        self._threads = [Repeated(name, _LOOK_S, partial(self._send_due, name)) for name in self._receivers]
        self._threads.append(self._looking)

    def close(self, within_s: float | None = None) -> None:
        """Waits for what is being sent, at most this long (None: until it is); after that it ends with the process."""
        begun_s = time.monotonic()
        for thread in self._threads:
            thread.stop(0)
        for thread in self._threads:
            thread.stop(None if within_s is None else max(0.0, begun_s + within_s - time.monotonic()))
        if not any(thread.is_alive() for thread in self._threads):
            if self._own is not None:
                self._own.close()
            self._lock_file.close()

    # ------------------------------------------------------------ what is found

    def look(self, now_ms: int) -> None:
        """Opens and closes what has changed. Raises OSError, duckdb.Error: the home cannot be read just now."""
        if self._own is not None:
            self._own.refresh()
            if not self._own.is_ready:
                self._own.make_lists()
        if not self._history.is_ready:
            return
        found = {key_of(one.group_id, one.kind): one for one in found_in(self._history, self._settings, now_ms)}
        over = [key for key in self.kept.open if key not in found and not key.startswith(LEFT_OUT)]
        waiting, new, covered = self._sorted_out(found, over, now_ms)
        opened = {key_of(one.group_id, one.kind): self._alarm_of(one, now_ms) for one in new}
        with self._lock:
            was_covered, self.kept.covered = self.kept.covered, covered
            counts = len(self.kept.due), self.kept.sent_count
            for key in over:
                self._close(key, now_ms)
            for key, alarm in opened.items():
                self._open(key, alarm, now_ms)
            said = self._say_what_waits(waiting, now_ms)
            self._repeat(now_ms)
            self._drop_surplus(now_ms)
            has_news = was_covered != covered or counts != (len(self.kept.due), self.kept.sent_count)
            if over or opened or said or has_news or not self._is_written:
                self._write()
            sent, count = self.kept.sent, self.kept.sent_count
        self._sent_table.add(sent, count)

    def _sorted_out(
        self, found: Mapping[str, Found], over: Sequence[str], now_ms: int
    ) -> tuple[list[Found], list[Found], set[str]]:
        """What has to wait for another minute, what is opened, and the ids of what an alarm of the group covers.

        An incident is sent once: while a group has an alarm, its other troubles that are not more severe belong to it.
        Such a trouble becomes an alarm of its own only if it is still ongoing after that one has ended.
        """
        open_now = {key: alarm for key, alarm in self.kept.open.items() if key not in over}
        worst = dict[str, int]()
        """By group, which is the key without the kind."""
        for key, alarm in open_now.items():
            group = key.removeprefix(alarm.kind)
            worst[group] = max(worst.get(group, -1), rank(alarm.severity))
        is_quiet = self._settings.quiet.hold(now_ms, self._settings.quiet_zone)
        waiting, new, covered = list[Found](), list[Found](), set[str]()
        room = self._room(now_ms)
        for key, one in sorted(found.items(), key=lambda item: -rank(item[1].severity)):
            if key in open_now:
                continue
            group = key.removeprefix(one.kind)
            has_alarm = bool(one.group_id) and worst.get(group, -1) >= rank(one.severity)
            if has_alarm or (one.id in self.kept.covered and not one.is_ongoing):
                covered.add(one.id)
            elif not one.is_news or (is_quiet and rank(one.severity) < rank(self._settings.quiet_severity)):
                continue
            else:
                (new if len(new) < room else waiting).append(one)
                worst[group] = rank(one.severity)
        self._opened += len(new)
        return waiting, new, covered

    def _room(self, now_ms: int) -> int:
        """How many alarms may still be opened in this minute."""
        if now_ms // _MINUTE_MS != self._minute:
            self._minute, self._opened = now_ms // _MINUTE_MS, 0
        return max(0, self._settings.opened_per_minute - self._opened)

    def _say_what_waits(self, waiting: list[Found], now_ms: int) -> bool:
        """An alarm says that others wait, as long as they do. Whether there is news of that."""
        key = key_of("", LEFT_OUT)
        if bool(waiting) == (key in self.kept.open):
            return False
        if waiting:
            said = left_out(waiting, self._settings.opened_per_minute, now_ms)
            self._open(key, self._alarm_of(said, now_ms), now_ms)
        else:
            self._close(key, now_ms)
        return True

    def _alarm_of(self, one: Found, now_ms: int) -> Alarm:
        place = f"{GROUP_PAGE}{urlencode({'group': one.group_id, 'at': one.until_ms})}" if one.group_id else ""
        try:
            reason = reason_of(self._history, one)
        except Exception:
            # The troubles that were found are sent all the same.
            log.exception("why %s of alarm %s happened is not known", one.kind, one.id)
            reason = Reason()
        alarm = Alarm(
            id=one.id,
            group_id=one.group_id,
            kind=one.kind,
            since_ms=one.since_ms,
            opened_ms=now_ms,
            sentence=one.sentence,
            link=f"{self._settings.page}{place}",
            severity=one.severity,
            **reason._asdict(),
        )
        return bounded(alarm)

    def _open(self, key: str, alarm: Alarm, now_ms: int) -> None:
        self.kept.open[key] = alarm
        self._tell("opened", alarm, now_ms, self._receivers)

    def _close(self, key: str, now_ms: int) -> None:
        alarm = msgspec.structs.replace(self.kept.open.pop(key), closed_ms=now_ms)
        self._tell("closed", alarm, now_ms, self._receivers)

    def _repeat(self, now_ms: int) -> None:
        last_ms = {(one.receiver, one.alarm.id): one.at_ms for one in self.kept.sent}
        for name, receiver in self._receivers.items():
            for alarm in self.kept.open.values() if receiver.repeats_ms else ():
                if now_ms - last_ms.get((name, alarm.id), now_ms) >= receiver.repeats_ms:
                    self._tell("goes_on", alarm, now_ms, [name])

    def _tell(self, event: Event, alarm: Alarm, now_ms: int, receivers: Iterable[str]) -> None:
        waits = {(due.receiver, due.event, due.alarm.id) for due in self.kept.due}
        for name in receivers:
            if self._receivers[name].wants(alarm) and (name, event, alarm.id) not in waits:
                self.kept.due.append(DueMessage(name, event, alarm, now_ms, now_ms))

    # ------------------------------------------------------------ what is sent

    def send_one(self, name: str, now_ms: int) -> bool:
        """Send a receiver the next message that is due, and return whether one was."""
        if now_ms < self._rests_until_ms[name]:
            return False
        with self._lock:
            due = next_due(self.kept.due, name, now_ms) if self._is_written else None
            if due is None:
                return False
            self._held[name] = due
        try:
            answer = self._receivers[name].send(due.event, due.alarm, now_ms)
            self._failures[name] = 0
        except NotTaken as failure:
            if not failure.is_final and now_ms - due.since_ms < GIVEN_UP_MS:
                self._put_off(due, failure, now_ms)
                return True
            log.warning("%s: alarm %s (%s) is given up: %s", name, due.alarm.id, due.event, failure)
            answer = self._given_up(name, str(failure))
        with self._lock:
            self._settle(due, answer, now_ms)
            self._write()
        return True

    def _put_off(self, due: DueMessage, failure: NotTaken, now_ms: int) -> None:
        """Other alarms are tried meanwhile, after a pause that is longer the more of them fail too."""
        if due.tries == 0:
            log.warning("%s: an alarm was not taken and is sent again: %s", due.receiver, failure)
        due.tries += 1
        due.next_ms = now_ms + wait_ms(due.tries, LONGEST_WAIT_MS)
        self._failures[due.receiver] += 1
        self._rests_until_ms[due.receiver] = now_ms + wait_ms(self._failures[due.receiver], LONGEST_PAUSE_MS)

    def _drop_surplus(self, now_ms: int) -> None:
        for name in self._receivers:
            gone = surplus(self.kept.due, name, self._held.get(name))
            for due in gone:
                self._settle(due, self._given_up(name, "too many others wait"), now_ms)
            if gone:
                log.warning("%s: %d messages are given up: too many others wait", name, len(gone))

    def _settle(self, due: DueMessage, answer: str, now_ms: int) -> None:
        self.kept.due = [one for one in self.kept.due if one is not due]
        self.kept.remember(Sent(now_ms, due.receiver, due.event, due.alarm, answer))

    def _given_up(self, name: str, why: str) -> str:
        """Count a message that is not sent again, and return the reason for the history."""
        self._refused.labels(name).inc()
        return f"given up: {why}"

    def _write(self) -> None:
        """Write what is remembered. Nothing is sent until that succeeds, which each look tries again."""
        try:
            write_kept(self._home, self.kept)
        except OSError as error:
            if self._is_written:
                log.error("no alarm is sent until %s can be written: %s", self._home / FILE, error.strerror or error)
            self._is_written = False
        else:
            self._is_written = True

    def start(self) -> None:
        """Looks and sends until it is closed."""
        for thread in self._threads:
            thread.start()

    def _look(self) -> None:
        self.look(int(time.time() * 1000))

    def _send_due(self, name: str) -> None:
        try:
            while not self._looking.is_stopped and self.send_one(name, int(time.time() * 1000)):
                pass
        except Exception:
            log.exception("%s: an alarm could not be sent just now", name)
