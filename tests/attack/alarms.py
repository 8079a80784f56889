"""Hostile alarms: groups, clients and reasons with hostile names, from a trouble that is found to what receivers get.

Watches that no name acts in any receiver's form, that every body is JSON within its receiver's limit, that ids tell
troubles apart, and that the home's file has what is remembered. Knows receivers' limits; must not know a view.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, cast
from unittest.mock import patch

import msgspec

from rollcall.programs.visible import visible
from rollcall.serve.alerts import alarm as alarms
from rollcall.serve.alerts import queue, watching
from rollcall.serve.alerts.alarm import FILE, Alarm, Event, Sent, read_kept
from rollcall.serve.alerts.kind_names import KINDS
from rollcall.serve.alerts.kinds import Found
from rollcall.serve.alerts.reason import Reason
from rollcall.serve.alerts.receivers import Receiver, Write, alertmanager, pagerduty, slack, teams, webhook
from rollcall.serve.alerts.sending import NotTaken
from rollcall.serve.alerts.sent_table import rows_of
from rollcall.serve.alerts.settings import AlertSettings
from rollcall.serve.alerts.watching import Alarms
from rollcall.serve.page.history import History
from tests.attack import hostile
from tests.attack.attacked import Attacked, Finding, FindingOfLog

TEXTS = (
    "https://evil.example/login?x=1",
    "HTTPS://evil.example",
    "ftp://evil.example",
    "www.evil.example",
    "mailto:a@evil.example",
    "tel:+1-900-555-0100",
    "<https://evil.example|The group then>",
    "[click](https://evil.example) ![x](https://evil.example/p.png)",
    "<!channel> <@U123> @here <at>all</at>",
    "*bold* _it_ ~s~ `code` :fire:",
    "over\n:white_check_mark: over *payments*: all is well",
    "a\rb\x00c\x1b[31md\x85e\u2028f\u2029g\u202eh\u2066i\u2069j\x9b",
    "\u6f22" * 10_900,
    "&" * 30_000,
    "\"'\\" * 300,
    "\x01" * 32_000,
    "\U000e0001" * 8_000,
    "\ud800x",
    "x\udfff",
    "\udc80\ud800",
)
PAGE = AlertSettings().page
AT_MS = 1_772_359_200_000
STEPS_MS = (1, 1_000, 60_000, 3_600_000, 90_000_000)
MOST_DUE, MOST_SENT = 12, 30
"""As in the product, but soon reached."""
ALARM_BYTES = 6_000
"""An alarm in the file, with its receiver's answer, has fewer."""
_LINKED = re.compile(r"(?i)://|(?<![a-z])(?:www\.|mailto:|tel:)")
_MARKED = re.compile(r"[<>]|&(?!amp;|lt;|gt;)")
_LINK = re.compile(re.escape(PAGE) + r"[\w/?=&%.+~-]*", re.ASCII)
_HEAD = re.compile(rf":[a-z_]+: \*[a-z]+\* since [-0-9T:.Z]+\. <{_LINK.pattern}\|The group then>", re.ASCII)

Trouble = tuple[str, str, int, str, str, str, str]
"""A group, a kind, since when, and the texts: what was found, why, who, at which cost."""


class HostileAlarms(Attacked):
    """Troubles that come and go in a home that is started again and again, with receivers that do not always take."""

    name = "alarms"
    slow_s = 2.0

    def __init__(self) -> None:
        self._sent = 0
        self._failed = FindingOfLog("rollcall.alerts", logging.ERROR)
        self._there: list[Trouble] = []
        self._patches = ExitStack()
        for what in (
            patch.object(watching, "found_in", lambda *_: self._found()),
            patch.object(watching, "reason_of", lambda _, one: self._reasons().get((one.group_id, one.kind), Reason())),
            patch.object(watching, "SentTable", Rows),
            patch.object(queue, "MOST_DUE", MOST_DUE),
            patch.object(alarms, "MOST_SENT", MOST_SENT),
        ):
            self._patches.enter_context(what)

    def case(self, random: Random) -> bytes:
        count = random.choice((1, 2, 5, 5, 30))
        longest = 300 if count == 30 else None
        names = [text(random)[:longest] for _ in range(random.choice((1, 2, 3, 5)))]
        troubles = [
            (
                # Of a table, which holds no half of a pair.
                random.choice((*names, f"g{random.randrange(40)}")).encode(errors="replace").decode(),
                random.choice([*KINDS]),
                AT_MS - random.choice((0, 1, 1_000, 10**9)),
                *(
                    random.choice(("", *names, f"{random.choice(names)} left: {random.choice(names)}"))
                    for _ in range(4)
                ),
            )
            for _ in range(count)
        ]
        return json.dumps([random.randrange(1000), troubles]).encode()

    def play(self, case: bytes) -> int:
        seed, listed = json.loads(case)
        troubles = list({(group_id, kind): (group_id, kind, *rest) for group_id, kind, *rest in listed}.values())
        _check_ids(troubles)
        random, now_ms = Random(seed), AT_MS
        with TemporaryDirectory() as folder:
            for _ in range(4):
                self._there = [one for one in troubles if random.random() < 0.6]
                self._step(Path(folder), random, now_ms)
                now_ms += random.choice(STEPS_MS)
        return len(troubles)

    def _step(self, home: Path, random: Random, now_ms: int) -> None:
        """A start, a look, some messages, and an end that is a kill: nothing is written by it."""
        receivers = [Receiver(name, partial(self._deliver, random, name), hours * 3_600_000) for name, hours in FORMS]
        settings = AlertSettings(opened_per_minute=random.choice((1, 30, 30)))
        with closing(Alarms(home, settings, receivers, cast(History, Ready))) as of_home:
            of_home.look(now_ms)
            kept = of_home.kept
            if (home / FILE).exists() and read_kept(home) != kept:
                raise Finding("what is read back is not what was remembered")
            rows_of(kept.sent)
            for name, _ in FORMS:
                for _ in range(random.choice((0, 1, 10))):
                    of_home.send_one(name, now_ms)
            if len(kept.due) > len(FORMS) * MOST_DUE or len(kept.sent) > MOST_SENT:
                raise Finding("more is remembered than may be")
            many = len(kept.open) + len(kept.due) + len(kept.sent) + 1
            if (home / FILE).exists() and (home / FILE).stat().st_size > many * ALARM_BYTES:
                raise Finding(f"an alarm has more than {ALARM_BYTES} bytes in {FILE}")

    def _deliver(self, random: Random, name: str, event: Event, alarm: Alarm, now_ms: int) -> str:
        self._sent += 1
        check(name, json.dumps(WRITERS[name](event, alarm, now_ms)), alarm)
        # As `rollcall.serve.alerts.sending` decodes one.
        answer = text(random).encode(errors="replace").decode()
        if random.random() < 0.3:
            raise NotTaken(answer, is_final=random.random() < 0.3)
        return answer

    def _found(self) -> Iterator[Found]:
        for group_id, kind, since_ms, sentence, *_ in self._there:
            yield Found(group_id, kind, since_ms, AT_MS, True, sentence)

    def _reasons(self) -> dict[tuple[str, str], Reason]:
        return {(group_id, kind): Reason(*texts) for group_id, kind, _, _, *texts in self._there}

    def close(self) -> None:
        self._patches.close()
        self._failed.close()

    def figures(self) -> str:
        return f"{self._sent} messages"


class Ready:
    """The history of a home, as it is asked before troubles are looked for."""

    is_ready = True


class Rows:
    """The table of what was sent, without its files."""

    def __init__(self, home: Path) -> None:
        self.count = 0

    def add(self, sent: list[Sent], count: int) -> None:
        rows_of(sent)
        self.count = count


WRITERS: dict[str, Write] = {
    "webhook": webhook,
    "slack": slack,
    "teams": teams,
    "alertmanager": alertmanager,
    "pagerduty": partial(pagerduty, "key"),
    "command": webhook,
}
FORMS = [(name, int(name == "alertmanager")) for name in WRITERS]
"""The receivers, and after how many hours each gets an alarm again."""
MOST_BYTES = {"slack": 100_000, "teams": 28_000, "pagerduty": 512_000}
"""What each takes; a webhook and Alertmanager have no limit, and get less than Teams."""
DATA = {"webhook": ("group",), "command": ("group",), "alertmanager": ("group",)}
"""Fields that nothing acts on: the name as it is."""
OURS = ("link", "client_url", "href", "url", "generatorURL", "$schema")


def check(name: str, body: str, alarm: Alarm) -> None:
    """Raises Finding: a receiver would not take what it gets, or would act on a name in it."""
    message = json.loads(body)
    if len(body) > MOST_BYTES.get(name, MOST_BYTES["teams"]):
        raise Finding(f"{name}: {MOST_BYTES.get(name)} bytes are too few for it")
    if _LINK.fullmatch(alarm.link) is None:
        raise Finding("a link holds more than a link may")
    is_marked_up = name == "slack"
    for key, said in texts_of(message):
        if key in DATA.get(name, ()):
            continue
        if visible(said) != said:
            raise Finding(f"{name}: {key} has a character that acts")
        if key in OURS or (is_marked_up and _HEAD.fullmatch(said)):
            continue
        if name not in ("webhook", "command") and _LINKED.search(said):
            raise Finding(f"{name}: {key} has an address")
        if is_marked_up and _MARKED.search(said):
            raise Finding(f"{name}: {key} has markup")
    limits = LIMITS.get(name, lambda _: True)
    if not limits(message):
        raise Finding(f"{name}: a part is longer or another than it may be")


def texts_of(found: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """All texts of a message, each with the name of its field."""
    if isinstance(found, str):
        yield key, found
    elif isinstance(found, dict):
        for name, each in found.items():
            yield from texts_of(each, name)
    elif isinstance(found, list):
        for each in found:
            yield from texts_of(each, key)


def _is_slacks(message: Any) -> bool:
    first, *others = (block["text"] for block in message["blocks"])
    return (
        len(message["text"]) <= 40_000
        and first["type"] == "mrkdwn"
        and _HEAD.fullmatch(first["text"]) is not None
        and all(len(one["text"]) <= 3_000 and one["type"] == "plain_text" and not one["emoji"] for one in others)
        and (message["mrkdwn"], message["parse"], message["link_names"]) == (False, "none", False)
    )


def _is_pagerdutys(message: Any) -> bool:
    payload = message.get("payload", {"summary": "s", "source": "s"})
    return 0 < len(payload["summary"]) <= 1_024 and bool(payload["source"]) and len(message["dedup_key"]) <= 255


LIMITS: dict[str, Callable[[Any], bool]] = {
    "slack": _is_slacks,
    "pagerduty": _is_pagerdutys,
    "alertmanager": lambda message: message[0]["startsAt"] <= message[0]["endsAt"],
}


def _check_ids(troubles: list[Trouble]) -> None:
    found = [Found(group_id, kind, since_ms, AT_MS, True, "") for group_id, kind, since_ms, *_ in troubles]
    keys = {alarms.key_of(one.group_id, one.kind) for one in found}
    if not len(found) == len({one.id for one in found}) == len(keys):
        raise Finding("two troubles have one id or one key")
    if [one.id for one in found] != [msgspec.convert(tuple(one), Found).id for one in found]:
        raise Finding("one trouble has two ids")


def text(random: Random) -> str:
    """A hostile text, sometimes with a longer one's beginning or end."""
    chosen = random.choice(TEXTS) if random.random() < 0.6 else hostile.text(random)
    if random.random() < 0.2:
        return chosen + random.choice(TEXTS) + str(random.randrange(3))
    return chosen
