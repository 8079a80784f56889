"""The table of docs/what-is-proven.md: of every recorded incident how many causes are exact, open and wrong.

Knows where the truth of each incident lies; must not know a rule by which a cause is found.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rollcall.schemas.causes import Cause
from rollcall.schemas.effects import RebalanceStarted
from tests.offsets_topic import folded
from tests.offsets_topic.folded import OF_SESSIONS, SESSIONS, decoded, fold, read_dump
from tests.request_log.imported import Imported, imported
from tests.request_log.recordings import INCIDENTS, capture, incident
from tests.request_log.truth import NAMES, consumer_groups, groups, truth

CONSUMER_CAPTURES = ("o-consumer-protocol", "q-consumer-slow")
CLASSIC_INCIDENTS = ("clients", "dying", "failover", "full-group", "java", "unanswered")

True_ = tuple[int, str, str]
"""The generation or epoch that a rebalance left, its cause, the culprit's member id (empty: nobody's)."""
Reported = list[tuple[int, Cause]]


class Share(NamedTuple):
    """How right one input is of one protocol."""

    input: str
    protocol: str
    counts: Counter[str]


def counted(true: Iterable[True_], reported: Reported) -> Counter[str]:
    """exact, open, wrong (reported as inferred) and `wrong, certain`."""
    counts, left = Counter[str](), list(reported)
    for from_id, kind, member_id in true:
        cause = next((cause for of, cause in left if of == from_id), None)
        if cause is not None:
            left.remove((from_id, cause))
        if cause is None:
            counts["wrong"] += 1
        elif str(cause.kind) == kind and (not member_id or cause.member_id == member_id):
            counts["exact"] += 1
        elif cause.kind == "unknown" or len(cause.candidates) > 1:
            counts["open"] += 1
        else:
            counts["wrong" if cause.is_inferred else "wrong, certain"] += 1
    for _, cause in left:
        counts["wrong" if cause.is_inferred else "wrong, certain"] += 1
    return counts


def of_log(found: Imported, group: str) -> Reported:
    return [(effect.from_generation_id, effect.cause) for effect in found.of_group(group, RebalanceStarted)]


def of_topic(found: folded.Folded, group: str) -> Reported:
    return [(start, cause) for start, _, cause in found.causes(group)]


def of_incident(name: str, *, is_classic: bool = False) -> dict[str, list[True_]]:
    """Of an incident with consumer groups its classic groups, or the others; of another one all."""
    reported: dict[str, list[Any]] = json.loads((INCIDENTS / f"{name}.json").read_text())
    return {
        group: [(each[0], each[1], each[2]) for each in rows]
        for group, rows in reported.items()
        if name not in SESSIONS or (group not in SESSIONS[name]) is is_classic
    }


def of_consumers(name: str) -> dict[str, list[True_]]:
    return {
        group: [(each["epoch"] - 1, each["cause"], each["trigger"]["member_id"] or "") for each in what["epochs"]]
        for group, what in consumer_groups(name).items()
    }


def of_classic(name: str) -> dict[str, list[True_]]:
    return {group: [_classic(each) for each in what["rebalances"]] for group, what in groups(name).items()}


def _classic(row: dict[str, Any]) -> True_:
    return row["from_generation"], row["cause"], row["trigger"]["member_id"] or ""


@cache
def unsaid(name: str) -> Imported:
    """A log without the lines that say what is set for its groups."""
    lines = gzip.decompress((INCIDENTS / f"{name}.log.gz").read_bytes()).splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requests.log"
        path.write_bytes(b"".join(line for line in lines if b"_CONFIGS" not in line))
        return imported(path)


@cache
def topic_of(name: str, *, is_known: bool) -> folded.Folded:
    return fold(decoded(read_dump(OF_SESSIONS / f"{name}.dump.gz")), sessions=SESSIONS[name] if is_known else {})


Source = tuple[Callable[[str], Reported], dict[str, list[True_]]]


def shares() -> Iterator[Share]:
    def all_of(sources: Iterable[Source]) -> Counter[str]:
        return sum(
            (counted(rows, reported(group)) for reported, true in sources for group, rows in true.items()),
            Counter[str](),
        )

    def log(found: Imported, true: dict[str, list[True_]]) -> Source:
        return lambda group: of_log(found, group), true

    def topic(found: folded.Folded, true: dict[str, list[True_]]) -> Source:
        return lambda group: of_topic(found, group), true

    classic = [log(capture(name), of_classic(name)) for name in NAMES if truth(name)["groups"]]
    classic += [log(capture("n-classic-mixed"), of_classic("n-classic-mixed"))]
    classic += [log(incident(name), of_incident(name, is_classic=True)) for name in (*CLASSIC_INCIDENTS, *SESSIONS)]
    yield Share("request log", "classic", all_of(classic))
    captured = [log(capture(name), of_consumers(name)) for name in CONSUMER_CAPTURES]
    said = [log(incident(name), of_incident(name)) for name in SESSIONS]
    yield Share("request log", "consumer, its configs in lines", all_of([*captured, *said]))
    hidden = [log(unsaid(name), of_incident(name)) for name in SESSIONS]
    yield Share("request log", "consumer, its configs in no line", all_of(hidden))
    topics = [topic(folded.capture(name), of_consumers(name)) for name in CONSUMER_CAPTURES]
    for is_known, words in ((False, "sessions not known"), (True, "sessions known")):
        more = [topic(topic_of(name, is_known=is_known), of_incident(name)) for name in SESSIONS]
        yield Share("topic", f"consumer, {words}", all_of([*topics, *more]))
    older = [topic(folded.capture("n-classic-mixed"), of_classic("n-classic-mixed"))]
    older += [topic(topic_of(name, is_known=False), of_incident(name, is_classic=True)) for name in SESSIONS]
    yield Share("topic", "classic", all_of(older))


HEAD = """| input | protocol | cases | exact | open | wrong | of these certain |
|---|---|---|---|---|---|---|
"""


def table() -> str:
    """As Markdown."""
    return HEAD + "".join(_line(share) for share in shares())


def _line(share: Share) -> str:
    cases, certain = sum(share.counts.values()), share.counts["wrong, certain"]
    cells = [f"{share.counts[name]} ({share.counts[name] / cases:.1%})" for name in ("exact", "open")]
    row = [share.input, share.protocol, str(cases), *cells, str(share.counts["wrong"] + certain), str(certain)]
    return f"| {' | '.join(row)} |\n"
