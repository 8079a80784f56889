"""The report at the end of a replay: counts of lines, how many answers are equal, and the rebalances.

Knows the counts and the views. Must not know how a log is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table

from rollcall.answers.why.telling import in_a_line
from rollcall.history.kinds import kind_of
from rollcall.history.rebalances import Rebalance
from rollcall.history.words import moment
from rollcall.inputs.request_log.parity import Difference, Parity
from rollcall.inputs.request_log.recorded import OF_LAG, Tally, given_up
from rollcall.programs.terminal import ROLLCALL, add_row, say, text_of
from rollcall.schemas.causes import Cause, CauseCandidate
from rollcall.schemas.effects import MemberWait
from rollcall.shown.tables import show_table
from rollcall.tables.home import Home

NO_REQUEST = (
    "no request of a group is in it: looked for lines of a request log (`Completed request:`), for lines of brokers "
    "and clients about groups, and for a dump of __consumer_offsets"
)
SHOWN_DIFFERENCES = 5
SHOWN_REBALANCES = 40


_REBALANCES = """
    select rebalances.*, group_type, unix_millis(known_from) known_from_ms, unix_millis(ended_at) ended_at_ms
    from rebalances left join (
      select group_id, at, lead(at) over (partition by group_id order by at_ms, seq) until_at,
             coalesce(get_json_object(detail, '$.to_type'), get_json_object(detail, '$.group_type')) group_type
      from effects where effect in ('group_type_changed', 'group_found')
    ) types
      on types.group_id = rebalances.group_id and at <= coalesce(ended_at, known_from)
      and (until_at is null or coalesce(ended_at, known_from) < until_at)
    order by known_from, rebalances.group_id
"""


class Replayed(NamedTuple):
    """The result of a replay of a log."""

    tally: Tally
    parity: Parity
    inferred: Mapping[str, str]
    """Broker settings inferred from the log, by Kafka's keys."""
    seconds: float
    """How long the replay took."""


def say_log(console: Console, replayed: Replayed) -> None:
    """Prints the counts of the log's lines, and how its answers compare."""
    for line in log_lines(replayed.tally, replayed.seconds):
        say(console, line)
    for key, value in replayed.inferred.items():
        say(console, f"  the log shows that the broker had {key}={value}; --set overrides it")
    for line in session_lines(replayed.tally):
        say(console, line)
    if not replayed.tally.used:
        say(console, NO_REQUEST)
    _say_parity(console, replayed.parity)


def session_lines(tally: Tally) -> Iterator[str]:
    """A sentence for each consumer group whose session timeout is known only from silences."""
    for group_id, bounds in sorted(tally.sessions.items()):
        if bounds.likely_ms:
            yield (
                f"  {group_id}: sessions end after {bounds.text}; its own consumer.session.timeout.ms is likely "
                f"{bounds.likely_ms / 1000:g} s; --set groups.{group_id}.consumer.session.timeout.ms= overrides it"
            )


def log_lines(tally: Tally, seconds: float) -> Iterator[str]:
    """Counts of lines, reasons by kind with an example, and the groups that were given up."""
    used, quarantined = tally.used + tally.of_lag, tally.quarantined.total()
    skipped = {reason: lines for reason, lines in tally.skipped.items() if not reason.startswith(OF_LAG)}
    yield (
        f"{tally.read} lines read in {seconds:.1f} s: {used} used, {sum(skipped.values())} skipped, {quarantined} "
        f"quarantined; from {_time(tally.first_at_ms)} to {_time(tally.last_at_ms)} (UTC)"
    )
    if tally.used and not tally.of_lag:
        yield "  no FETCH or LIST_OFFSETS line: where logs end is unknown, and so is the lag of groups"
    for what, reasons in (("skipped", skipped), ("quarantined", tally.quarantined), ("inferred", tally.inferred)):
        for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
            yield f"  {what} {count}: {reason}"
            if reason in tally.examples:
                yield f"    the first: {tally.examples[reason]}"
    yield from given_up(tally)


def _say_parity(console: Console, parity: Parity) -> None:
    if not parity.compared:
        say(console, "no recorded answer to a group's request was found, so there is nothing to compare")
        return
    table = Table(title="recorded answers compared with ours", title_justify="left")
    for name in ("API", "compared", "equal", "different"):
        table.add_column(name, justify="left" if name == "API" else "right")
    for api in sorted(set(parity.equal) | set(parity.different)):
        equal, different = parity.equal[api], parity.different[api]
        add_row(table, api, str(equal + different), str(equal), str(different))
    show_table(console, table)
    say(
        console,
        f"parity: {parity.share:.3%} ({sum(parity.equal.values())} of {parity.compared} recorded answers match)",
    )
    for found in parity.first[:SHOWN_DIFFERENCES]:
        _tell_difference(console, found)


def _tell_difference(console: Console, found: Difference) -> None:
    table = Table(
        title=text_of(
            f"{found.group_id}: {found.api} of {found.client_id} at {_time(found.received_at_ms)}", "table.title"
        ),
        title_justify="left",
    )
    for name in ("field", "recorded", "ours"):
        table.add_column(name, overflow="fold")
    for name in found.recorded:
        add_row(table, name, _text(found.recorded[name]), _text(found.ours[name]))
    show_table(console, table)


def tell_home(console: Console, home: Home) -> None:
    """Prints a line for each rebalance, in order of `known_from`, and where the history is."""
    from rollcall.answers.sql.engine import ask  # Takes fifty megabytes, and by now no process has rows.

    with home.read_here() as here:
        answer = ask(here.path, _REBALANCES, limit=SHOWN_REBALANCES + 1)
    names = [column.name for column in answer.columns]
    rows = [SimpleNamespace(**dict(zip(names, row, strict=True))) for row in answer.rows]
    shown = f"the first {SHOWN_REBALANCES}" if len(rows) > SHOWN_REBALANCES else str(len(rows))
    say(console)
    say(console, f"rebalances (UTC), {shown}:")
    for row in rows[:SHOWN_REBALANCES]:
        say(
            console,
            f"  {moment(row.known_from_ms)}  {row.group_id}: {in_a_line(_rebalance(row), kind_of(row.group_type))}",
        )
    say(console)
    say(console, f'The history is in {home.shown}: {ROLLCALL} sql --home {home.shown} "select * from rebalances"')
    say(console, f"To look at it in a browser: {ROLLCALL} page --home {home.shown}")


def _rebalance(row: SimpleNamespace) -> Rebalance:
    """The rebalance of a row of the view."""
    slowest = MemberWait(
        member_id=row.slowest_member_id or "",
        client_id=row.slowest_client_id or "",
        client_host="",
        group_instance_id=None,
        joined_at_ms=None,
        synced_at_ms=None,
        held_others_ms=row.slowest_wait_ms or 0,
    )
    cause = Cause(
        kind=row.cause,
        client_id=row.cause_client_id or row.cause_group_instance_id or row.cause_member_id or "",
        client_host=row.cause_client_host or "",
        client_reason=row.client_reason,
        is_inferred=row.is_inferred,
        candidates=tuple(CauseCandidate(kind=kind) for kind in row.cause_candidates or ()),
    )
    return Rebalance(
        row.from_generation_id,
        row.known_from_ms,
        cause,
        row.members_before,
        to_generation_id=row.to_generation_id,
        ended_at_ms=row.ended_at_ms,
        outcome=row.outcome,
        members_after=row.members_after,
        is_start_known=row.started_at is not None,
        waits=(slowest,),
    )


def _time(at_ms: int | None) -> str:
    return "no moment" if at_ms is None else moment(at_ms)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
