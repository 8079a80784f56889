"""`rollcall explain`: what files of brokers and clients say about groups. Writes nothing, starts no JVM.

Knows how the answer is laid out as text; `rollcall.shown.explained_json` has it as JSON. What it says is made in
`rollcall.inputs.printed`, and of request logs and dumps in `rollcall.inputs.recorded_groups`.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
from rich.console import Console

from rollcall.answers.no_such_group import no_such_group
from rollcall.history.words import LONGEST_SENTENCE, count, short, some, with_short_ids
from rollcall.inputs.explained_files import REQUEST_LOG, Answer, Texts, answer_of, texts_of
from rollcall.inputs.not_understood import (
    LONGEST_SHOWN,
    WHAT_WAS_LOOKED_FOR,
    is_understood,
    notes_of,
    nothing_understood,
    tell_ignored,
)
from rollcall.inputs.printed.findings.common_causes import alike_at_once
from rollcall.inputs.printed.growing_log import CUT as NOT_WHOLE
from rollcall.inputs.printed.growing_log import GrowingLog
from rollcall.inputs.printed.lines.entries import Clock
from rollcall.inputs.printed.lines.files import STANDARD_INPUT, comes_once, copies_removed, ends_cut, files_of
from rollcall.inputs.printed.logged_facts import LoggedFact
from rollcall.inputs.printed.logged_rebalances import Finding, LoggedGroup, LoggedRebalance, Source, evidence_of
from rollcall.inputs.printed.reading import CUT, REQUEST, FileRead, may_matter, of_lines
from rollcall.inputs.printed.story import course, groups_in
from rollcall.inputs.printed.unread import Unread, UnreadLines, unread_as_toml, unread_sentences
from rollcall.inputs.printed.wording import (
    cause_sentence,
    end_words,
    holder_sentence,
    left_open,
    own_part,
    trouble_of,
    who_of,
)
from rollcall.programs.errors import UserError
from rollcall.programs.log_lines import tell
from rollcall.programs.terminal import Line, say_all
from rollcall.programs.timestamps import read_moment
from rollcall.programs.visible import visible
from rollcall.schemas.causes import name_of
from rollcall.shown.explained_json import as_json, rebalance_json, unread_json

FOLLOWED = 5_000
"""Maximum number of lines about groups that are kept of a growing log."""
LEAST_SHOWN = 40
"""Minimum length of a quoted line; where its place leaves no room for it, a terminal breaks it."""
_Ended = tuple[str, tuple[str, int]]
"""A group, and the line that a rebalance of it is known by."""


class Asked(NamedTuple):
    """The options of `rollcall explain`."""

    group_id: str = ""
    since: str = ""
    until: str = ""
    """Moments, as they are typed."""
    shows_evidence: bool = False
    shows_unknown: bool = False
    """Print only the wordings that no format reads."""
    zone: ZoneInfo | None = None
    """Time zone of times that are printed without one."""
    texts: Texts | None = None
    """Lines shown as evidence."""
    columns: int = LONGEST_SHOWN
    """Maximum length of an evidence line."""
    from_ms: float = -inf
    to_ms: float = inf
    """The first and the last millisecond of the chosen time: what the moments are once the lines' own time is known."""

    def counted_from(self, latest_ms: int) -> Asked:
        """Return it with its time. latest_ms: of the lines, ms since the epoch. Raises MomentError."""
        return self._replace(
            from_ms=read_moment(self.since, lambda: latest_ms, "--since").from_ms if self.since else -inf,
            to_ms=read_moment(self.until, lambda: latest_ms, "--until").to_ms if self.until else inf,
        )


@copies_removed()
def explain(paths: Sequence[str], asked: Asked, form: str, console: Console) -> None:
    """Reads the files and prints the answer. Raises MomentError, before a file is read."""
    asked = asked.counted_from(_now_ms())
    files = files_of(paths)
    for file in files:
        if file != STANDARD_INPUT and comes_once(file):
            tell(f"{file}: waiting for data from a pipe; Ctrl-C ends", is_error=True)
    answer = answer_of(files, asked.zone)
    if asked.shows_unknown:
        unread = unread_as_toml(one for read in answer.reads for one in read.unread)
        print(*map(visible, unread), sep="\n")
        return
    chosen, asked = _chosen(answer, files, asked)
    if form == "json":
        print(msgspec.json.encode(as_json(answer, chosen)).decode())
    else:
        say_all(console, _answer_lines(answer, chosen, _with_texts(asked, chosen, _columns_of(console))))
    tell_ignored([read.file for read in answer.reads if not is_understood(read)])


@copies_removed()
def explained(paths: Sequence[str], asked: Asked) -> tuple[str, dict[str, Any]]:
    """Return what explain prints as text, and what it prints as JSON. Raises UserError."""
    files = files_of(paths)
    answer = answer_of(files, asked.zone)
    chosen, asked = _chosen(answer, files, asked)
    lines = (visible(line.text) for line in _answer_lines(answer, chosen, _with_texts(asked, chosen, LONGEST_SHOWN)))
    return "\n".join(lines), msgspec.to_builtins(as_json(answer, chosen))


def _chosen(answer: Answer, files: Sequence[str], asked: Asked) -> tuple[list[LoggedGroup], Asked]:
    """Return the chosen groups, those in trouble first, and the question with its time. Raises UserError."""
    if not any(read.facts or read.titles for read in answer.reads):
        raise nothing_understood(answer.reads)
    known = [group.group_id for group in answer.groups]
    if asked.group_id and asked.group_id not in known:
        raise no_such_group(asked.group_id, known, "these files" if len(files) > 1 else files[0])
    if asked.since or asked.until:
        asked = asked.counted_from(max(_all_times(answer), default=_now_ms()))
    groups = sorted(answer.groups, key=lambda group: (-trouble_of(group), group.group_id))
    chosen = [part for group in groups if asked.group_id in ("", group.group_id) for part in (_within(group, asked),)]
    return chosen, asked


def _with_texts(asked: Asked, chosen: Sequence[LoggedGroup], columns: int) -> Asked:
    return asked._replace(texts=texts_of(chosen), columns=columns) if asked.shows_evidence else asked


def _now_ms() -> int:
    return int(time.time() * 1000)


def _all_times(answer: Answer) -> Iterator[int]:
    """Return the moments in files as a person reads them there."""
    for read in answer.reads:
        yield from (fact.at_ms for fact in read.facts if fact.at_ms is not None and fact.clock is not Clock.NONE)
    for group in answer.groups:
        for one in group.rebalances:
            yield from _own_times(one)


def _columns_of(console: Console) -> int:
    return console.width if console.is_terminal else LONGEST_SHOWN


def explain_as_they_come(
    arriving: Iterable[tuple[Sequence[str], bool]], asked: Asked, form: str, console: Console
) -> None:
    """Prints each rebalance as it ends. arriving: lines, and whether a pause follows them. Moments count from now.

    Raises MomentError.
    """
    asked = asked.counted_from(_now_ms())
    followed = _Followed(asked)
    asked = asked._replace(texts=followed.texts, columns=_columns_of(console))
    try:
        for lines, is_pause in arriving:
            for group, one in followed.ended(lines, is_pause=is_pause):
                is_asked = asked.group_id in ("", group.group_id) and _is_within(_times_of(one), asked)
                if is_asked and form == "json":
                    print(msgspec.json.encode({"group_id": group.group_id, **rebalance_json(one)}).decode(), flush=True)
                elif is_asked:
                    say_all(console, [Line(group.group_id, "bold"), *_rebalance_lines(one, group, asked)])
    except KeyboardInterrupt:
        _say_unread(followed.unknown.found(), form, console)
        raise
    unread = followed.unknown.found()
    if not followed.has_facts:
        first = followed.first_line
        raise nothing_understood([FileRead(STANDARD_INPUT, first_line=first, lines=len(first), unread=unread)])
    _say_unread(unread, form, console)


class _Followed:
    """Lines of standard input, as far as they have come."""

    def __init__(self, asked: Asked) -> None:
        self.texts = OrderedDict[tuple[str, int], str]()
        """The latest lines, if they are to be shown."""
        self.unknown, self.first_line, self.has_facts = UnreadLines(), "", False
        self._log = GrowingLog(STANDARD_INPUT, asked.zone, unknown=self.unknown)
        self._keeps_texts, self._lines_read = asked.shows_evidence, 0
        self._facts, self._shown = deque[LoggedFact](maxlen=FOLLOWED), set[_Ended]()

    def ended(self, lines: Sequence[str], *, is_pause: bool) -> Iterator[tuple[LoggedGroup, LoggedRebalance]]:
        """Return the rebalances that new lines end, each once, and name cut lines. Raises UserError."""
        numbered = [*enumerate(lines, self._lines_read + 1)]
        self._lines_read += len(lines)
        self.first_line = self.first_line or next(filter(None, lines), "")
        if REQUEST.decode() in self.first_line:
            raise UserError(
                f"{STANDARD_INPUT}: is {REQUEST_LOG}, and --follow follows what brokers and clients print; "
                "`rollcall shadow` follows a request log that grows."
            )
        if self._keeps_texts:
            self.texts.update(((STANDARD_INPUT, number), line) for number, line in numbered if may_matter(line))
        read = self._log.read(numbered, is_pause=is_pause)
        cut = [entry.line_number for entry, why in read.doubtful if why == NOT_WHOLE]
        for number in sorted((*cut, *(number for number, line in numbered if ends_cut(line)))):
            tell(of_lines(CUT, [number]), is_error=True)
        self.has_facts |= bool(read.facts) or len(read.doubtful) > len(cut)
        yield from self._not_shown(read.facts)
        while len(self.texts) > FOLLOWED:
            self.texts.popitem(last=False)

    def _not_shown(self, new: Sequence[LoggedFact]) -> Iterator[tuple[LoggedGroup, LoggedRebalance]]:
        """Return the rebalances that new facts end. Epochs of the newer protocol have no last line."""
        self._facts += new
        for group in groups_in([*self._facts], new[0].line_number, is_ongoing=True) if new else ():
            for one in group.rebalances:
                known = group.group_id, evidence_of(one.facts)[0 if group.has_epochs else -1]
                if (one.outcome or group.has_epochs) and known not in self._shown:
                    self._shown.add(known)
                    yield group, one


def _say_unread(unread: Sequence[Unread], form: str, console: Console) -> None:
    if form != "json":
        say_all(console, map(Line, unread_sentences(unread)))
    elif unread:
        print(msgspec.json.encode({"unread": [unread_json(one) for one in unread]}).decode(), flush=True)


def _within(group: LoggedGroup, asked: Asked) -> LoggedGroup:
    """Return the part of a group's story within a time."""
    if (asked.from_ms, asked.to_ms) == (-inf, inf):
        return group
    rebalances = [one for one in group.rebalances if _is_within(_times_of(one), asked)]
    findings = [one for one in group.findings if _is_within(_times(one.facts), asked)]
    return replace(group, rebalances=rebalances, findings=findings)


def _times_of(one: LoggedRebalance) -> list[int]:
    return [*_times(one.facts), *_own_times(one)]


def _own_times(one: LoggedRebalance) -> list[int]:
    """The times that no line gives."""
    own = (one.began_at_ms, one.joined_at_ms, one.ended_at_ms) if one.source is not Source.LINES else ()
    return [ms for ms in own if ms is not None]


def _times(facts: Iterable[LoggedFact]) -> list[int]:
    return [fact.at_ms for fact in facts if fact.at_ms is not None]


def _is_within(times_ms: Sequence[int], asked: Asked) -> bool:
    if not times_ms:
        return (asked.from_ms, asked.to_ms) == (-inf, inf)
    return max(times_ms) >= asked.from_ms and min(times_ms) <= asked.to_ms


def _answer_lines(answer: Answer, groups: Sequence[LoggedGroup], asked: Asked) -> Iterator[Line]:
    for read in answer.reads:
        kinds, of_groups = some(read.titles) or "not understood", len(read.facts) + read.recorded
        yield Line(f"{read.file}: {kinds}, {count(read.lines, 'line')}, {of_groups} about groups")
        for note in (*notes_of(read), *unread_sentences(read.unread)):
            yield Line(f"  {short(note)}")
    if any(read.lines and not is_understood(read) for read in answer.reads):
        yield Line(WHAT_WAS_LOOKED_FOR)
    yield from _none_within(answer, groups)
    common, own = _apart(groups)
    if common:
        yield Line()
        yield Line("SEVERAL GROUPS AT ONCE", "bold")
        for finding in common:
            yield from _finding_lines(finding, asked)
    named = {group_id for finding in common for group_id in finding.group_ids}
    brief = [group for group in own if group.group_id in named and _is_brief(group)]
    for group in own:
        if not (group.group_id in named and _is_brief(group)):
            yield from _group_lines(group, asked)
    if brief:
        yield Line()
    for group in brief:
        yield Line(". ".join((_heading(group), *map(_worded, group.findings))))
        yield from _evidence_lines((fact for one in group.findings for fact in one.facts), asked)
    unknown = [*left_open([*groups]), *answer.left_out]
    if unknown:
        yield Line()
        yield Line("WHAT THESE LINES DO NOT SHOW", "bold")
        for sentence in unknown:
            yield Line(f"  {short(sentence)}")


def _apart(groups: Sequence[LoggedGroup]) -> tuple[list[Finding], list[LoggedGroup]]:
    """What groups have in common, and the groups with the findings that only they have."""
    shared = [one for group in groups for one in group.findings if one.group_ids]
    common = [*{(one.sentence, one.facts[0]): one for one in shared}.values()]
    shown_once = {*map(id, shared)}
    for finding, alike in alike_at_once(groups):
        common.append(finding)
        shown_once.update(map(id, alike))
    own = [replace(group, findings=[one for one in group.findings if id(one) not in shown_once]) for group in groups]
    return sorted(common, key=lambda one: one.first.at_ms or 0), own


def _is_brief(group: LoggedGroup) -> bool:
    """Return whether one line says everything about a group."""
    return not group.rebalances and len(group.findings) < 2 and not any(one.candidates for one in group.findings)


def _none_within(answer: Answer, groups: Sequence[LoggedGroup]) -> Iterator[Line]:
    """Return a sentence if no rebalance of the files lies in the chosen time."""
    if any(group.rebalances for group in groups):
        return
    chosen = {group.group_id for group in groups}
    every = [one for group in answer.groups if group.group_id in chosen for one in group.rebalances if _times_of(one)]
    if not every:
        return
    first = min(every, key=lambda one: min(_times_of(one)))
    last = max(every, key=lambda one: max(_times_of(one)))
    from_to = [first.moment(min(_times_of(first))), last.moment(max(_times_of(last)))]
    shown = " to ".join(at.replace("T", " ") for at in from_to if at)
    yield Line(f"No rebalance in this time; the {len(every)} in these files ran from {shown}.")


def _group_lines(group: LoggedGroup, asked: Asked) -> Iterator[Line]:
    yield Line()
    yield Line(_heading(group), "bold")
    for one in course(group):
        if isinstance(one, Finding):
            yield from _finding_lines(one, asked)
        else:
            yield from _rebalance_lines(one, group, asked)


def _heading(group: LoggedGroup) -> str:
    kind = f" ({group.group_type} group)" if group.has_epochs else ""
    return f"{group.group_id}{kind}: {count(len(group.rebalances), 'rebalance')}"


def _worded(finding: Finding) -> str:
    at, inferred = finding.moment, " (inferred)" if finding.is_inferred else ""
    at = "- " if at is None else f"{at.replace('T', ' ')}  "
    return f"{at}{short(finding.sentence, LONGEST_SENTENCE - len(at) - len(inferred))}{inferred}"


def _finding_lines(finding: Finding, asked: Asked) -> Iterator[Line]:
    yield Line(f"  {_worded(finding)}")
    if finding.candidates:
        yield Line(f"    {short('What fits: ' + '; '.join(finding.candidates), LONGEST_SENTENCE - 1)}.")
    yield from _evidence_lines(finding.facts, asked)


def _rebalance_lines(one: LoggedRebalance, group: LoggedGroup, asked: Asked) -> Iterator[Line]:
    step = "epoch" if group.has_epochs else "generation"
    before = "?" if one.from_generation_id is None else one.from_generation_id
    not_known = "?" if before == "?" or one.outcome != "empty" else "none"
    after = not_known if one.generation_id is None else one.generation_id
    at = one.moment(one.began_at_ms or one.joined_at_ms or one.ended_at_ms)
    at = at or (f"by {shown}" if (shown := one.moment(one.shown_by_ms)) else "no time")
    how = "" if group.has_epochs else f", {end_words(one)}"
    yield Line(f"  {at.replace('T', ' ')}  {step} {before} -> {after}: {name_of(one.cause.kind)}{how}")
    yield Line(f"    {short(cause_sentence(one))}")
    if part := own_part(one):
        yield Line(f"    {short(part)}")
    if one.cause.member_id and one.cause.member_id != who_of(one.cause):
        yield Line(f"    Its member id: {with_short_ids(one.cause.member_id)}")
    if one.held_by is not None:
        yield Line(f"    {short(holder_sentence(one.held_by))}")
    yield from _evidence_lines(one.facts, asked)
    if asked.shows_evidence:
        yield from (Line(f"      {record}") for record in one.records)


def _evidence_lines(facts: Iterable[LoggedFact], asked: Asked) -> Iterator[Line]:
    if asked.shows_evidence:
        for file, line in evidence_of(facts):
            place = f"      {file}:{line}"
            text = visible((asked.texts or {}).get((file, line), "")).strip()
            room = asked.columns - len(place) - 2
            if room < LEAST_SHOWN:
                room = max(room + asked.columns // 2, LEAST_SHOWN)
            yield Line(f"{place}: {text[:room]}" if text else place)
