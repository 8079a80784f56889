"""The settings of alarms: receivers, kinds of trouble and limits. Must not know how anything is sent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rollcall.answers.views.view import Severity
from rollcall.programs.errors import ConfigError
from rollcall.programs.settings import setting
from rollcall.serve.alerts.quiet import QuietTimes, Zone
from rollcall.serve.exporter.settings import Pattern

PREFIX = "rollcall.alerts."
VARIABLE_PREFIX = "ROLLCALL_ALERTS_"
"""Of the environment variables that hold secrets."""
NOT_IN_A_STORE = "a home in an object store has no alarms of its own"
_LEAST = "the least severity that it is sent: info, warning or critical"


class Arguments(tuple[str, ...]):
    """A program and its arguments, as a list in JSON."""

    __slots__ = ()

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse a JSON list of strings. Raises ValueError: it is anything else."""
        try:
            arguments = json.loads(text) if text else []
        except ValueError:
            arguments = None
        if not isinstance(arguments, list) or not all(
            isinstance(argument, str) and "\0" not in argument for argument in arguments
        ):
            raise ValueError('is not a JSON list of strings such as ["/usr/local/bin/tell", "--team", "data"]')
        return cls(arguments)

    def __str__(self) -> str:
        return json.dumps(self) if self else ""


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """Receivers, and which troubles they are sent. A secret is in a file or the environment.

    Raises ConfigError: an invalid address, or an unknown kind of trouble.
    """

    webhook: str = setting(PREFIX + "webhook", "", "an address that takes alarms as JSON by POST")
    webhook_file: Path | None = setting(
        PREFIX + "webhook.file", None, "the file of that address, if it is secret, in place of `webhook`"
    )
    webhook_secret_file: Path | None = setting(
        PREFIX + "webhook.secret.file", None, "the file of the key that signs what the webhook gets"
    )
    webhook_severity: Severity = setting(PREFIX + "webhook.severity", "info", _LEAST)
    slack_file: Path | None = setting(
        PREFIX + "slack.file", None, "the file of the address of Slack's incoming webhook"
    )
    slack_severity: Severity = setting(PREFIX + "slack.severity", "info", _LEAST)
    teams_file: Path | None = setting(
        PREFIX + "teams.file", None, "the file of the address of a workflow of Teams that takes adaptive cards"
    )
    teams_severity: Severity = setting(PREFIX + "teams.severity", "info", _LEAST)
    alertmanager: str = setting(PREFIX + "alertmanager", "", "the address of an Alertmanager, http://host:9093")
    alertmanager_severity: Severity = setting(PREFIX + "alertmanager.severity", "info", _LEAST)
    pagerduty_file: Path | None = setting(
        PREFIX + "pagerduty.file", None, "the file of the routing key of PagerDuty's Events API v2"
    )
    pagerduty_address: str = setting(
        PREFIX + "pagerduty.address", "https://events.pagerduty.com", "where that API is; another one in the EU"
    )
    pagerduty_severity: Severity = setting(PREFIX + "pagerduty.severity", "info", _LEAST)
    command: Arguments = setting(
        PREFIX + "command", Arguments(), "a program and its arguments, as a list in JSON: it gets the webhook's JSON"
    )
    command_timeout_ms: int = setting(
        PREFIX + "command.timeout.ms", 10_000, "the time limit, after which it and its children are killed", least=100
    )
    command_severity: Severity = setting(PREFIX + "command.severity", "info", _LEAST)
    groups: Pattern = setting(PREFIX + "groups", Pattern(".*"), "only these groups: a regular expression")
    groups_excluded: Pattern = setting(PREFIX + "groups.excluded", Pattern(""), "excluded groups; empty: none")
    kinds: tuple[str, ...] = setting(PREFIX + "kinds", (), "only these troubles, by name; empty: all")
    quiet: QuietTimes = setting(
        PREFIX + "quiet", QuietTimes.from_text(""), "when no alarm is opened: Mon-Fri 22:00-06:00, Sat, Sun"
    )
    quiet_zone: Zone = setting(PREFIX + "quiet.zone", Zone("UTC"), "the zone of these times, as Europe/Berlin")
    quiet_severity: Severity = setting(
        PREFIX + "quiet.severity", "critical", "from which severity on alarms are opened in these times too"
    )
    opened_per_minute: int = setting(
        PREFIX + "per.minute", 30, "how many alarms are opened a minute at most, the others later", least=1
    )
    redirects: bool = setting(PREFIX + "redirects", False, "true: a receiver's redirects are followed")
    private_addresses: bool = setting(
        PREFIX + "private.addresses", True, "false: nothing is sent to addresses of private networks or this machine"
    )
    interval_ms: int = setting(PREFIX + "interval.ms", 5_000, "how often the home is looked at", least=100)
    page: str = setting(PREFIX + "page", "http://127.0.0.1:8080", "where the page is, to which alarms link")

    def __post_init__(self) -> None:
        if self.kinds:
            # Whoever has no alarms does without the views.
            from rollcall.serve.alerts.kind_names import KINDS

            for kind in self.kinds:
                if kind not in KINDS:
                    raise ConfigError(f"is not a trouble; there are {', '.join(KINDS)}", f"{PREFIX}kinds", kind)
        for name in ("webhook", "alertmanager", "pagerduty_address", "page"):
            address = getattr(self, name)
            if address and not address.startswith(("http://", "https://")):
                # The address may hold a secret.
                why = "is not an address that begins with http:// or https://"
                raise ConfigError(why, f"{PREFIX}{name.replace('_', '.')}")
