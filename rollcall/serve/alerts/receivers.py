"""The receivers of alarms: what each is sent, in the form that it knows.

What a client or a group calls itself cannot become a mention, a link, markup or a command in any of them. What is said
of a failure names the receiver and never its address or its key, which may be secret. Knows forms; must not know when
what is sent, nor how it gets there.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from rollcall.answers.views.view import Severity, rank
from rollcall.programs.errors import ConfigError
from rollcall.programs.timestamps import iso_utc
from rollcall.programs.visible import visible
from rollcall.serve.alerts.alarm import Alarm, Event
from rollcall.serve.alerts.secrets import address_of, blanked, login_of, parts_of, secret_of, variable_of
from rollcall.serve.alerts.sending import NotTaken, Reach, post, run
from rollcall.serve.alerts.settings import PREFIX, AlertSettings

VERSION = 1
"""Of the webhook's JSON."""
OPEN_FOR_MS = 2 * 3_600_000
"""After this time Alertmanager resolves an alarm, unless it gets the alarm again."""
SHOWN_ANSWER = 200
_LINKED = re.compile(r":(?=//)|(?<![a-z])(?:mailto:|tel:|www\.)", re.IGNORECASE)
"""By these, programs find addresses in plain text, also behind a digit or a character of another script."""
_HOUR_MS = 3_600_000

Write = Callable[[Event, Alarm, int], Any]
"""Makes the JSON of a message, which is sent now."""


@dataclass(frozen=True)
class Receiver:
    name: str
    deliver: Callable[[Event, Alarm, int], str]
    """Says what was answered. Raises NotTaken."""
    repeats_ms: int = 0
    """How often it gets an open alarm again; 0: never."""
    least: Severity = "info"
    """The least severity of its alarms."""
    secrets: tuple[str, ...] = ()
    """What no answer may show."""

    def wants(self, alarm: Alarm) -> bool:
        return rank(alarm.severity) >= rank(self.least)

    def send(self, event: Event, alarm: Alarm, now_ms: int) -> str:
        """What it answered. Raises NotTaken."""
        try:
            return self._shown(self.deliver(event, alarm, now_ms))
        except NotTaken as failure:
            raise NotTaken(self._shown(str(failure)), is_final=failure.is_final) from None

    def _shown(self, said: str) -> str:
        return blanked(said, self.secrets)[:SHOWN_ANSWER]


def receivers_of(settings: AlertSettings) -> list[Receiver]:
    """Those that the settings and secrets name. Raises ConfigError: a secret that cannot be read or is set twice."""
    found: list[Receiver] = []
    reach = Reach(settings.private_addresses, settings.redirects)

    def add(
        name: str,
        address: str,
        write: Write,
        least: Severity,
        secrets: tuple[str, ...],
        key: str = "",
        repeats_ms: int = 0,
    ) -> None:
        def deliver(event: Event, alarm: Alarm, now_ms: int) -> str:
            body = json.dumps(write(event, alarm, now_ms)).encode()
            return post(address, signature(key, body), body, reach)

        found.append(Receiver(name, deliver, repeats_ms, least, secrets))

    secret_hook = address_of("webhook", settings.webhook_file)
    if settings.webhook and secret_hook:
        source = variable_of("webhook") if settings.webhook_file is None else f"{PREFIX}webhook.file"
        raise ConfigError(f"set either this or {source}", f"{PREFIX}webhook")
    if hook := settings.webhook or secret_hook:
        secret = secret_of("webhook.secret", settings.webhook_secret_file)
        add("webhook", hook, webhook, settings.webhook_severity, (*parts_of(hook), secret), secret)
    for name, path, write, least in (
        ("slack", settings.slack_file, slack, settings.slack_severity),
        ("teams", settings.teams_file, teams, settings.teams_severity),
    ):
        if place := address_of(name, path):
            add(name, place, write, least, parts_of(place))
    if settings.alertmanager:
        address = settings.alertmanager.rstrip("/") + "/api/v2/alerts"
        secrets = (settings.alertmanager, *login_of(address))
        add("alertmanager", address, alertmanager, settings.alertmanager_severity, secrets, repeats_ms=_HOUR_MS)
    if key := secret_of("pagerduty", settings.pagerduty_file):
        events = settings.pagerduty_address.rstrip("/") + "/v2/enqueue"
        add("pagerduty", events, partial(pagerduty, key), settings.pagerduty_severity, (key, *login_of(events)))
    if settings.command:
        within_s = settings.command_timeout_ms / 1000

        def printed(*sent: Any) -> str:
            return run(settings.command, json.dumps(webhook(*sent)).encode(), within_s)

        found.append(Receiver("command", printed, least=settings.command_severity))
    return found


def signature(key: str, body: bytes) -> dict[str, str]:
    """X-Rollcall-Signature, where there is a key, is sha256= and the HMAC of the body."""
    return {"X-Rollcall-Signature": f"sha256={hmac.new(key.encode(), body, hashlib.sha256).hexdigest()}"} if key else {}


def webhook(event: Event, alarm: Alarm, now_ms: int) -> Any:
    """An alarm as the webhook and the command get it."""
    return {
        "version": VERSION,
        "event": event,
        "id": alarm.id,
        "group": alarm.group_id,
        "kind": alarm.kind,
        "severity": alarm.severity,
        "since": iso_utc(alarm.since_ms / 1000),
        "closed": None if alarm.closed_ms is None else iso_utc(alarm.closed_ms / 1000),
        "sentence": alarm.sentence,
        "why": alarm.why,
        "who": alarm.who,
        "cost": alarm.cost,
        "link": alarm.link,
        "sent": iso_utc(now_ms / 1000),
    }


def slack(event: Event, alarm: Alarm, now_ms: int) -> Any:
    """Return Slack's message: our own words are markup, all text of others is plain.

    Notifications show `text`, which is plain, too.
    """
    state, emoji = ("over", ":white_check_mark:") if event == "closed" else (alarm.severity, ":rotating_light:")
    head = f"{emoji} *{state}* since {iso_utc(alarm.since_ms / 1000)}. <{alarm.link}|The group then>"
    # Slack takes 3,000 characters in a block; `&amp;` is five of them.
    found, reason = f"{_named(alarm)}: {alarm.sentence}", ". ".join(filter(None, (alarm.why.rstrip("."), alarm.cost)))
    return {
        "text": _slack_text(f"{state}: {found}"),
        "mrkdwn": False,
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
        "blocks": [
            {"type": "section", "text": {"type": "mrkdwn", "text": head, "verbatim": True}},
            *(
                {"type": "section", "text": {"type": "plain_text", "text": _slack_text(text), "emoji": False}}
                for text in (found, reason)
                if text
            ),
        ],
    }


def teams(event: Event, alarm: Alarm, now_ms: int) -> Any:
    """Return an adaptive card, as a workflow that begins with a webhook request takes it; its texts are plain text."""
    state = "Over" if event == "closed" else alarm.severity.capitalize()
    colour = {"Over": "Good", "Critical": "Attention", "Warning": "Warning"}.get(state, "Default")
    lines: list[dict[str, Any]] = [
        {"text": f"{state}: {_unlinked(_named(alarm))}", "weight": "Bolder", "color": colour},
        {"text": _unlinked(alarm.text)},
        {"text": f"Since {iso_utc(alarm.since_ms / 1000)}", "isSubtle": True},
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "RichTextBlock", "inlines": [{"type": "TextRun", **line}]} for line in lines],
        "actions": [{"type": "Action.OpenUrl", "title": "The group then", "url": alarm.link}],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def alertmanager(event: Event, alarm: Alarm, now_ms: int) -> Any:
    """Return what the v2 API of Alertmanager takes: the same labels for the same alarm."""
    ends_ms = now_ms + OPEN_FOR_MS if alarm.closed_ms is None else max(alarm.closed_ms, alarm.since_ms + 1)
    body: dict[str, Any] = {
        "labels": {
            "alertname": "RollcallTrouble",
            "group": alarm.group_id,
            "kind": alarm.kind,
            "severity": alarm.severity,
            "rollcall_id": alarm.id,
        },
        "annotations": {
            "summary": _unlinked(f"{_named(alarm)}: {alarm.sentence}"),
            "description": _unlinked(alarm.text),
        },
        "startsAt": iso_utc(alarm.since_ms / 1000),
        "endsAt": iso_utc(ends_ms / 1000),
        "generatorURL": alarm.link,
    }
    return [body]


def pagerduty(key: str, event: Event, alarm: Alarm, now_ms: int) -> Any:
    """PagerDuty's Events API v2: what is triggered and what is resolved have the alarm's id as their key."""
    body: dict[str, Any] = {"routing_key": key, "dedup_key": alarm.id, "event_action": "resolve"}
    if event != "closed":
        body |= {
            "event_action": "trigger",
            "client": "Rollcall",
            "client_url": alarm.link,
            "links": [{"href": alarm.link, "text": "The group then"}],
            "payload": {
                "summary": _unlinked(f"{_named(alarm)}: {alarm.sentence}"),
                "source": _unlinked(_named(alarm)),
                "severity": alarm.severity,
                "timestamp": iso_utc(alarm.since_ms / 1000),
                "class": alarm.kind,
                "custom_details": {name: _unlinked(getattr(alarm, name)) for name in ("why", "who", "cost")},
            },
        }
    return body


def _named(alarm: Alarm) -> str:
    return visible(alarm.group_id) or "Rollcall"


def _unlinked(text: str) -> str:
    """Return plain text in which no program finds an address to link: `https[:]//host`."""
    return _LINKED.sub(lambda found: f"{found.group()[:-1]}[{found.group()[-1]}]", text)


def _slack_text(text: str) -> str:
    """Return plain text as Slack wants it escaped in each text object."""
    return _unlinked(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
