"""What each receiver is sent, and that a receiver that misbehaves does no harm and is not sent its own address."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from rollcall.programs.errors import ConfigError
from rollcall.programs.settings import from_texts
from rollcall.programs.visible import visible
from rollcall.serve.alerts.alarm import NAME_BYTES, Alarm, Event, bounded
from rollcall.serve.alerts.receivers import (
    Write,
    alertmanager,
    pagerduty,
    receivers_of,
    signature,
    slack,
    teams,
    webhook,
)
from rollcall.serve.alerts.sending import NotTaken
from rollcall.serve.alerts.settings import AlertSettings, Arguments
from tests.alerts.misbehaving import Server, receiving

ALARM = Alarm("0123", "<!channel> & co", "standstills", 1_000, 2_000, "<b> nobody held a partition", "http://page/x")
OVER = Alarm("0123", "g", "standstills", 1_000, 2_000, "nobody", "http://page/x", closed_ms=9_000)


@pytest.fixture
def server() -> Iterator[Server]:
    with receiving() as found:
        yield found


def test_a_webhook_gets_signed_json() -> None:
    signed = {"X-Rollcall-Signature": "sha256=" + hmac.new(b"key", b"body", hashlib.sha256).hexdigest()}
    assert signature("key", b"body") == signed
    assert signature("", b"body") == {}
    assert webhook("closed", OVER, 10_000) == {
        "version": 1,
        "event": "closed",
        "id": "0123",
        "group": "g",
        "kind": "standstills",
        "since": "1970-01-01T00:00:01.000Z",
        "closed": "1970-01-01T00:00:09.000Z",
        "severity": "warning",
        "sentence": "nobody",
        "why": "",
        "who": "",
        "cost": "",
        "link": "http://page/x",
        "sent": "1970-01-01T00:00:10.000Z",
    }


def texts_of(found: Any) -> Iterator[str]:
    """All texts of a message."""
    if isinstance(found, str):
        yield found
    for each in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
        yield from texts_of(each)


HOSTILE = (
    "https://evil.example/login?x=1",
    "HTTPS://evil.example",
    "www.evil.example",
    "mailto:a@evil.example",
    "1https://evil.example _www.evil.example \u6f22https://evil.example \u6f22mailto:a@evil.example",
    "<https://evil.example|The group then>",
    "[click](https://evil.example) ![x](https://evil.example/p.png)",
    "<!channel> <@U123> @here <at>all</at>",
    "*bold* _it_ ~s~ `code` :fire:",
    "over\n:white_check_mark: over *payments*: all is well. Since 2026",
    "a\rb\x00c\x1b[31md\x85e\u2028f\u2029g\u202eh\u2066i\u2069j\x9b",
    "\u6f22" * 10_900,
    "&" * 30_000,
    "\x01" * 32_000,
    "\U000e0001" * 8_000,
)
LINK = "http://page/x"
FORMS: dict[str, Write] = {
    "webhook": webhook,
    "slack": slack,
    "teams": teams,
    "alertmanager": alertmanager,
    "pagerduty": partial(pagerduty, "key"),
}
MOST_BYTES = {"slack": 15_000, "teams": 28_000, "pagerduty": 512_000}
EXACT = {"webhook": ("group",), "alertmanager": ("group",)}
"""Fields that are data."""


@pytest.mark.parametrize("event", ["opened", "closed"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_name_is_a_name_for_every_receiver_and_never_too_long(form: str, name: str, event: Event) -> None:
    link = f"{LINK}/group?{urlencode({'group': name})}"
    alarm = bounded(
        Alarm("0123", name, "storms", 1_000, 2_000, f"{name} left", link, None, "critical", name, name, name)
    )
    assert len(alarm.link) < 2_000
    body = json.dumps(FORMS[form](event, alarm, 10_000))
    assert len(body) < MOST_BYTES.get(form, 28_000)
    message = json.loads(body)
    plain = json.loads(body, object_hook=lambda found: {k: v for k, v in found.items() if k not in EXACT.get(form, ())})
    assert not [text for text in texts_of(plain) if visible(text) != text]
    if form in EXACT and len(name.encode()) <= NAME_BYTES:
        assert name in list(texts_of(message))
    if form != "webhook":
        ours = (alarm.link, "http://adaptivecards.io/schemas/adaptive-card.json")
        for text in texts_of(plain):
            for each in ours:
                text = text.replace(each, "")
            assert not re.search(r"(?i)https?:|www\.|mailto:", text)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_slack_reads_no_text_of_others_as_markup(name: str) -> None:
    alarm = bounded(
        Alarm("0123", name, "storms", 1_000, 2_000, f"{name} left", LINK, None, "warning", name, name, name)
    )
    message = slack("opened", alarm, 10_000)
    assert (message["mrkdwn"], message["parse"], message["link_names"]) == (False, "none", False)
    ours, *others = (block["text"] for block in message["blocks"])
    assert ours == {
        "type": "mrkdwn",
        "text": f":rotating_light: *warning* since 1970-01-01T00:00:01.000Z. <{LINK}|The group then>",
        "verbatim": True,
    }
    assert [(one["type"], one["emoji"]) for one in others] == [("plain_text", False)] * 2
    for text in (message["text"], *(one["text"] for one in others)):
        assert len(text) <= 3_000
        assert not re.search("[<>]|&(?!amp;|lt;|gt;)", text)


def test_alertmanager_gets_the_same_labels_until_it_is_over() -> None:
    opened = alertmanager("opened", ALARM, 10_000)[0]
    assert opened["labels"]["rollcall_id"] == "0123"
    assert opened["endsAt"] == "1970-01-01T02:00:10.000Z"
    closed = alertmanager("closed", OVER, 10_000)[0]
    assert closed["endsAt"] == "1970-01-01T00:00:09.000Z"


def test_teams_gets_a_card_in_which_no_name_acts() -> None:
    message = teams("opened", ALARM, 10_000)
    (attachment,) = message["attachments"]
    assert (message["type"], attachment["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    assert {block["type"] for block in card["body"]} == {"RichTextBlock"}
    (head, reported, since) = [block["inlines"][0] for block in card["body"]]
    assert {head["type"], reported["type"], since["type"]} == {"TextRun"}
    assert (head["text"], head["color"]) == ("Warning: <!channel> & co", "Warning")
    assert reported["text"] == "<b> nobody held a partition."
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "The group then", "url": "http://page/x"}]
    over = teams("closed", OVER, 10_000)["attachments"][0]["content"]
    assert over["body"][0]["inlines"][0]["text"] == "Over: g"


def test_pagerduty_gets_a_trigger_and_its_resolve_under_one_key() -> None:
    opened = pagerduty("r0uting", "opened", ALARM, 10_000)
    assert (opened["routing_key"], opened["event_action"], opened["dedup_key"]) == ("r0uting", "trigger", "0123")
    assert opened["payload"]["severity"] in ("critical", "error", "warning", "info")
    assert (opened["payload"]["timestamp"], opened["payload"]["source"]) == ("1970-01-01T00:00:01.000Z", ALARM.group_id)
    long = bounded(msgspec.structs.replace(ALARM, group_id="x" * 5_000, sentence="x" * 5_000))
    assert len(pagerduty("k", "opened", long, 0)["payload"]["summary"]) <= 1_024
    closed = pagerduty("r0uting", "closed", OVER, 10_000)
    assert closed == {"routing_key": "r0uting", "dedup_key": "0123", "event_action": "resolve"}


def test_a_command_gets_the_webhooks_json(tmp_path: Path) -> None:
    script = f"import sys; open({str(tmp_path / 'reported')!r}, 'wb').write(sys.stdin.buffer.read()); print('paged')"
    (receiver,) = receivers_of(AlertSettings(command=Arguments((sys.executable, "-S", "-c", script))))
    assert receiver.send("opened", ALARM, 10_000) == "exit status 0 paged"
    assert json.loads((tmp_path / "reported").read_bytes()) == webhook("opened", ALARM, 10_000)


def test_each_receiver_that_the_settings_name_gets_its_form_and_its_least_severity(
    server: Server, tmp_path: Path
) -> None:
    for name in ("slack", "teams"):
        (tmp_path / name).write_text(f"{server.address}/{name}\n")
    (tmp_path / "key").write_text("r0uting-key\n")
    settings = AlertSettings(
        webhook=f"{server.address}/hook",
        slack_file=tmp_path / "slack",
        teams_file=tmp_path / "teams",
        teams_severity="critical",
        alertmanager=f"{server.address}/am/",
        pagerduty_file=tmp_path / "key",
        pagerduty_address=server.address,
        pagerduty_severity="warning",
    )
    found = receivers_of(settings)
    for receiver in found:
        assert receiver.send("opened", ALARM, 10_000) == "200 ok"
    paths = [path for path, *_ in server.taken]
    assert paths == ["/hook", "/slack", "/teams", "/am/api/v2/alerts", "/v2/enqueue"]
    assert json.loads(server.taken[-1][2])["routing_key"] == "r0uting-key"
    critical = msgspec.structs.replace(ALARM, severity="critical")
    assert [one.name for one in found if not one.wants(ALARM)] == ["teams"]
    assert all(one.wants(critical) for one in found)


def test_a_receiver_that_repeats_what_it_was_sent_does_not_give_a_secret_away(server: Server, tmp_path: Path) -> None:
    server.behaves = "repeats_the_address"
    (tmp_path / "teams").write_text(f"{server.address}/workflows/s3cret?sig=abc\n")
    (tmp_path / "key").write_text("r0uting-key")
    settings = AlertSettings(
        teams_file=tmp_path / "teams", pagerduty_file=tmp_path / "key", pagerduty_address=server.address
    )
    for receiver in receivers_of(settings):
        with pytest.raises(NotTaken, match=r"^answered 404 no such hook") as failure:
            receiver.send("closed", OVER, 10_000)
        assert "s3cret" not in str(failure.value)
        assert "r0uting" not in str(failure.value)
        assert len(str(failure.value)) <= 200


def test_nobody_there_is_said_without_the_address(tmp_path: Path) -> None:
    (tmp_path / "slack").write_text("http://127.0.0.1:1/T00/secret\n")
    (receiver,) = receivers_of(AlertSettings(slack_file=tmp_path / "slack"))
    with pytest.raises(NotTaken, match=r"^Connection refused$"):
        receiver.send("opened", ALARM, 10_000)


def test_files_and_addresses_that_are_none_are_refused_without_being_shown(tmp_path: Path) -> None:
    (tmp_path / "slack").write_text("s3cret")
    (tmp_path / "key").write_text("\n")
    with pytest.raises(ConfigError, match=r"rollcall\.alerts\.slack\.file=.*holds no address") as refused:
        receivers_of(AlertSettings(slack_file=tmp_path / "slack"))
    assert "s3cret" not in str(refused.value)
    with pytest.raises(ConfigError, match=r"rollcall\.alerts\.webhook\.secret\.file=.*cannot be read"):
        receivers_of(AlertSettings(webhook="http://w/", webhook_secret_file=tmp_path / "none"))
    with pytest.raises(ConfigError, match=r"rollcall\.alerts\.pagerduty\.file=.*: is empty"):
        receivers_of(AlertSettings(pagerduty_file=tmp_path / "key"))


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("command", "page-me --now", 'is not a JSON list of strings such as ["/usr/local/bin/tell", "--team", "data"]'),
        ("command", '["a", 1]', "is not a JSON list of strings"),
        ("command", '["a\\u0000"]', "is not a JSON list of strings"),
        ("quiet", "22-06", "'22-06' is not of the form Mon-Fri 22:00-06:00"),
        ("quiet", "Sat 25:00-26:00", "has no times between 00:00 and 24:00"),
        ("quiet.zone", "Mars/Olympus", "is not a zone that is known here"),
        ("slack.severity", "bad", "is not one of info, warning, critical"),
        ("kinds", "storm", "rollcall.alerts.kinds=storm: is not a trouble; there are "),
        ("alertmanager", "s3cret", "rollcall.alerts.alertmanager: is not an address"),
        ("pagerduty.address", "s3cret", "rollcall.alerts.pagerduty.address: is not an address"),
    ],
)
def test_what_a_setting_is_not_it_says(key: str, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        from_texts(AlertSettings, {f"rollcall.alerts.{key}": text})
    assert says in str(refused.value)
