"""No spelling of a secret that a receiver may send back is shown, and a secret is not left open to others."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rollcall.programs.errors import ConfigError
from rollcall.serve.alerts.alarm import Alarm
from rollcall.serve.alerts.receivers import receivers_of
from rollcall.serve.alerts.secrets import blanked, login_of, parts_of
from rollcall.serve.alerts.settings import AlertSettings, Arguments
from tests.alerts.misbehaving import receiving

TOKEN = "TOKEN-abc/def+123\u00e9\u6f22"
ADDRESS = f"https://al%20ice:p%40ssw0rd@host/services/{TOKEN}/xyz?sig=s1gnature%2B1"
SECRETS = ("TOKEN-abc", "s1gnature", "p@ssw0rd", "p%40ssw0rd", base64.b64encode(b"al ice:p@ssw0rd").decode())
SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "percent-encoded": lambda text: quote(text, safe=""),
    "percent-encoded in small letters": lambda text: quote(text, safe="").replace("%2F", "%2f").replace("%E6", "%e6"),
    "each character encoded": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "encoded twice": lambda text: quote(quote(text, safe=""), safe=""),
    "JSON": lambda text: json.dumps(text).replace("/", r"\/"),
    "JSON in units": lambda text: "".join(f"\\u{ord(character):04X}" for character in text),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_address_is_shown_in_no_spelling(spelling: str) -> None:
    spell = SPELLINGS[spelling]
    for part in (ADDRESS, ADDRESS.partition("host")[2], TOKEN, "p@ssw0rd", *SECRETS):
        shown = blanked(f"you sent {spell(part)} to me", parts_of(ADDRESS))
        assert shown.startswith("you sent ")
        assert shown.endswith(" to me")
        assert not [secret for secret in SECRETS for each in SPELLINGS.values() if each(secret) in shown]


def test_what_an_address_without_a_secret_has_is_shown() -> None:
    assert login_of("http://host:9093/api/v2/alerts") == login_of("http://[no-address") == ()
    assert (
        blanked("no route to host, sent 5 bytes", parts_of("http://host/a/b?c=d")) == "no route to host, sent 5 bytes"
    )


def test_a_file_that_others_may_read_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hook").write_text("https://host/hook\n")
    for mode, warns in ((0o600, False), (0o400, False), (0o640, True), (0o604, True)):
        (tmp_path / "hook").chmod(mode)
        receivers_of(AlertSettings(webhook_file=tmp_path / "hook"))
        said = capsys.readouterr().err
        assert (
            said
            == (
                f"rollcall: rollcall.alerts.webhook.file={tmp_path / 'hook'}: other users have access "
                f"(mode {mode:o}); chmod 600\n"
            )
            * warns
        )


def test_a_webhooks_address_may_stand_in_a_file(tmp_path: Path) -> None:
    with receiving() as server:
        (tmp_path / "hook").write_text(f"{server.address}/s3cret-hook\n")
        (receiver,) = receivers_of(AlertSettings(webhook_file=tmp_path / "hook"))
        assert receiver.send("opened", Alarm("1", "g", "storms", 1, 2, "s", "l"), 10_000) == "200 ok"
        assert [path for path, *_ in server.taken] == ["/s3cret-hook"]
    with pytest.raises(
        ConfigError, match=r"rollcall\.alerts\.webhook: set either this or rollcall.alerts.webhook.file"
    ):
        receivers_of(AlertSettings(webhook="http://host/", webhook_file=tmp_path / "hook"))


def test_secrets_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as server:
        for name in ("WEBHOOK", "SLACK", "TEAMS"):
            monkeypatch.setenv(f"ROLLCALL_ALERTS_{name}", f"{server.address}/s3cret-{name}")
        monkeypatch.setenv("ROLLCALL_ALERTS_WEBHOOK_SECRET", "sign1ng-key")
        monkeypatch.setenv("ROLLCALL_ALERTS_PAGERDUTY", "rout1ng-key")
        settings = AlertSettings(
            pagerduty_address=server.address,
            command=Arguments(("/bin/sh", "-c", "env | grep -c ROLLCALL_ALERTS_; true")),
            private_addresses=True,
        )
        receivers = {receiver.name: receiver for receiver in receivers_of(settings)}
        answers = {
            name: one.send("opened", Alarm("1", "g", "storms", 1, 2, "s", "l"), 9) for name, one in receivers.items()
        }
        paths = [path for path, *_ in server.taken]
        signatures = [headers.get("X-Rollcall-Signature") for _, headers, *_ in server.taken]
    assert paths == ["/s3cret-WEBHOOK", "/s3cret-SLACK", "/s3cret-TEAMS", "/v2/enqueue"]
    assert signatures[0]
    assert list(answers) == ["webhook", "slack", "teams", "pagerduty", "command"]
    assert answers["command"] == "exit status 0 0"
    assert receivers["pagerduty"].secrets[0] == "rout1ng-key"


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("WEBHOOK", {"webhook": "http://host/"}),
        ("WEBHOOK", {"webhook_file": Path("hook")}),
        ("WEBHOOK_SECRET", {"webhook": "http://host/", "webhook_secret_file": Path("hook")}),
        ("SLACK", {"slack_file": Path("hook")}),
        ("TEAMS", {"teams_file": Path("hook")}),
        ("PAGERDUTY", {"pagerduty_file": Path("hook")}),
    ],
)
def test_a_secret_that_is_set_twice_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, settings: dict[str, Any]
) -> None:
    monkeypatch.setenv(f"ROLLCALL_ALERTS_{name}", "https://host/s3cret")
    with pytest.raises(ConfigError, match=f"set either this or ROLLCALL_ALERTS_{name}") as refused:
        receivers_of(AlertSettings(**settings))
    assert "s3cret" not in str(refused.value)


def test_an_address_of_the_environment_that_is_none_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLLCALL_ALERTS_SLACK", "s3cret")
    with pytest.raises(ConfigError, match=r"^ROLLCALL_ALERTS_SLACK: holds no address") as refused:
        receivers_of(AlertSettings())
    assert "s3cret" not in str(refused.value)
