"""The alarms as a process: `rollcall alerts`, or `python -m rollcall.serve.alerts`, with the same options.

Works beside whatever writes the home, so that no receiver can hold that up. Ends at SIGTERM or Ctrl-C. Knows how the
program is started; must not know a trouble, nor a receiver's form.
"""

from __future__ import annotations

import logging
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event as Flag

import click
import msgspec

from rollcall.history.words import second
from rollcall.programs.command_line import conf_option, examples, home_option, run_command, set_option
from rollcall.programs.errors import ConfigError
from rollcall.programs.log_lines import log_to_standard_error
from rollcall.programs.settings import from_texts, read_file, read_pairs
from rollcall.programs.visible import visible
from rollcall.serve.alerts.alarm import Alarm, read_kept
from rollcall.serve.alerts.receivers import Receiver, receivers_of
from rollcall.serve.alerts.sending import NotTaken
from rollcall.serve.alerts.settings import NOT_IN_A_STORE, PREFIX, AlertSettings
from rollcall.tables.home import Home

NAME = "python -m rollcall.serve.alerts"
WHATS = ("run", "test", "history")


@click.command(
    epilog=examples(
        "rollcall alerts --conf conf/mine.conf",
        'rollcall alerts test --set "rollcall.alerts.webhook=http://127.0.0.1:8000/"',
        "rollcall alerts history --home .rollcall",
    )
)
@click.argument("what", type=click.Choice(WHATS), default="run", metavar="[run|test|history]")
@home_option
@conf_option
@set_option("A setting, over the file's")
def command(what: str, home: str, conf: Path | None, given: tuple[str, ...]) -> int:
    """Send alarms about a home, or test their receivers."""
    from rollcall.serve.alerts.watching import Alarms

    log_to_standard_error(logging.WARNING)
    place = Home(home)
    if not place.is_local:
        raise ConfigError(
            f"{home}: {NOT_IN_A_STORE}: `rollcall export` serves it to Prometheus, whose rules tell of it."
        )
    place.check_there()
    if what == "history":
        for one in read_kept(place.path).sent:
            shown = (
                f"{one.receiver} {one.event} {one.alarm.id} {one.alarm.group_id}: {one.alarm.sentence} ({one.answer})"
            )
            print(f"{second(one.at_ms)} {visible(shown)}")
        return 0
    pairs = ({} if conf is None else read_file(conf)) | read_pairs(given, "--set ")
    settings = from_texts(AlertSettings, {key: text for key, text in pairs.items() if key.startswith(PREFIX)})
    receivers = receivers_of(settings)
    if not receivers:
        raise ConfigError(
            f"no receiver: set {PREFIX}webhook, webhook.file, slack.file, teams.file, alertmanager, pagerduty.file or "
            "command, or a secret of a receiver in the environment, as ROLLCALL_ALERTS_SLACK"
        )
    if what == "test":
        return 0 if all([_is_taken(receiver, settings) for receiver in receivers]) else 1
    ended = Flag()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: ended.set())
    alarms = Alarms(place.path, settings, receivers)
    try:
        receivers_named = ", ".join(receiver.name for receiver in receivers)
        print(f"rollcall: troubles of {home} are sent to {receivers_named}; Ctrl-C stops it.", flush=True)
        alarms.start()
        ended.wait()
    finally:
        alarms.close()
    return 0


def _is_taken(receiver: Receiver, settings: AlertSettings) -> bool:
    """Sends an example that is opened and closed, and says what was answered."""
    now_ms = int(time.time() * 1000)
    sentence = "this is only a test: nobody held a partition for 12.3 s"
    alarm = Alarm("0" * 16, "example-group", "standstills", now_ms - 12_300, now_ms, sentence, settings.page)
    try:
        receiver.send("opened", alarm, now_ms)
        answer = receiver.send("closed", msgspec.structs.replace(alarm, closed_ms=now_ms), now_ms)
    except NotTaken as failure:
        print(f"{receiver.name}: {visible(str(failure))}")
        return False
    print(f"{receiver.name}: taken, answered {visible(answer)}")
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: see `rollcall.programs.running`."""
    return run_command(command, NAME, arguments)


if __name__ == "__main__":
    sys.exit(main())
