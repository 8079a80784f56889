"""`make replay LOG="<request log> <dump>"`: both inputs of one cluster as one history.

Each is replayed on a home of its own within the home, `log` and `topic`, and their facts are merged group by group into
the home's effects. Knows the homes and how the parts go together; must not know by which rule facts are merged.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake
from rich.console import Console

from jobs.both_inputs import BothMerged, after_the_logs, lines_told, with_names
from jobs.config import JobConfig
from jobs.home import Home
from jobs.replay.command import BRIEF_BYTES, Replay, replay_config, replay_home
from jobs.replay.report import Told, tell_log, tell_rebalances, tell_where
from jobs.replay.topic import TopicReplay, tell_records
from jobs.shown.terminal import say
from jobs.spark.home_session import home_session
from jobs.stream.home_tables import open_effects, open_quarantine
from offsets_topic.beside_log.facts import COMMITS, MEMBERSHIP, Fact
from offsets_topic.beside_log.merging import merge
from offsets_topic.dumps.reading import is_dump
from offsets_topic.topic_names import named
from programs.errors import UserError
from request_log.lines.files import about_bytes
from schemas.tables import EFFECTS

_KEY = ("group_id", "at_ms", "seq")
_FACTS = """
    select group_id, is_topic, at_ms, seq, effect, generation_id, member_id, detail
    from (select *, false as is_topic from log union all by name select *, true as is_topic from topic)
    where effect in ({kinds}) order by group_id, is_topic, at_ms, seq
"""
_KINDS = pa.array(sorted(MEMBERSHIP | COMMITS), pa.string())
_ROWS_AT_ONCE = 20_000


class BothInputsError(UserError):
    """Two inputs that are not a request log and a dump; the text says so."""


def log_and_dump(paths: Sequence[Path]) -> tuple[Path, Path]:
    """Which path is the request log and which the dump. Raises BothInputsError: there are others, or two of a kind."""
    dumps = [path for path in paths if is_dump(path)]
    logs = [path for path in paths if path not in dumps]
    if len(dumps) != 1 or len(logs) != 1:
        named = " ".join(map(str, paths))
        raise BothInputsError(
            f"LOG={named}: names {len(logs)} request logs and {len(dumps)} dumps of __consumer_offsets, "
            f"and what goes together is one of each."
        )
    return logs[0], dumps[0]


def replay_both(
    home: Home,
    paths: Sequence[Path],
    given: Mapping[str, str],
    zone: str,
    console: Console,
    *,
    is_fresh: bool = False,
) -> None:
    """Replays a log and a dump on a home, merges them and reports; else as `jobs.replay.command.replay`."""
    config = replay_config(given)
    log, dump = log_and_dump(paths)
    with replay_home(home, is_fresh=is_fresh):
        work, topic = Replay(home.of_log, given, log, zone, console), TopicReplay(home.of_topic, config, dump)
        with console.status("starting Spark"):
            spark = home_session(home, "rollcall replay", is_brief=about_bytes(log) < BRIEF_BYTES)
        started = time.monotonic()
        work.run(spark)
        logged = Told(work.tally, work.parity, work.inferred, time.monotonic() - started)
        started = time.monotonic()
        topic.run(spark, console)
        seconds = time.monotonic() - started
        with console.status("merging their facts"):
            merged = merge_homes(home, config, logged.tally.last_at_ms or 0, topic.last_at_ms, topic.names)
        tell_log(console, logged)
        tell_records(console, topic, seconds)
        for line in lines_told(merged):
            say(console, line)
        tell_rebalances(console, home)
        tell_where(console, home)


def merge_homes(
    home: Home, config: JobConfig, log_until_ms: int, topic_until_ms: int, names: Mapping[str, str]
) -> BothMerged:
    """Writes the merged facts of the homes within a home as its own effects, and what neither could read.

    log_until_ms, topic_until_ms: as in `offsets_topic.beside_log.merging.merge`. names: topic names by id.
    """
    found = BothMerged()
    log, topic = (DeltaTable(each.effects).to_pyarrow_dataset() for each in (home.of_log, home.of_topic))
    left_out: list[str] = []
    kept: list[str] = []
    for group_id, of_log, of_topic in _groups(log, topic, names):
        merged = merge(of_log, of_topic, log_until_ms, topic_until_ms)
        left_out += [_key(group_id, of_log[place]) for place in merged.log_left_out]
        kept += [_key(group_id, of_topic[place]) for place in merged.topic_kept]
        found.note(group_id, merged.compared, merged.differences)
    found.left_out = len(left_out)

    def rows() -> Iterator[pa.RecordBatch]:
        out, take = pa.array(left_out, pa.string()), pa.array(kept, pa.string())
        for batch in log.to_batches(columns=EFFECTS.names):
            believed = batch.filter(pc.invert(pc.is_in(_keys(batch), out)))
            found.log_facts += believed.num_rows
            yield with_names(believed, lambda ids: names)
        for batch in topic.to_batches(columns=EFFECTS.names):
            told = batch.filter(pc.or_(pc.is_in(_keys(batch), take), pc.invert(pc.is_in(batch["effect"], _KINDS))))
            found.topic_facts += told.num_rows
            yield after_the_logs(told)

    open_effects(home, config)
    write_deltalake(home.effects, pa.RecordBatchReader.from_batches(EFFECTS.arrow, rows()), mode="append")
    open_quarantine(home, config)
    for each in (home.of_log, home.of_topic):
        unfit = DeltaTable(each.quarantine).to_pyarrow_table()
        if unfit.num_rows:
            write_deltalake(home.quarantine, unfit, mode="append")
    return found


def _groups(log: object, topic: object, names: Mapping[str, str]) -> Iterator[tuple[str, list[Fact], list[Fact]]]:
    """Every group's facts of the kinds that both inputs tell: of the log, and of the topic."""
    with duckdb.connect() as connection:
        connection.register("log", log)
        connection.register("topic", topic)
        kinds = ", ".join(f"'{kind}'" for kind in _KINDS.to_pylist())
        found = connection.execute(_FACTS.format(kinds=kinds))
        rows = chain.from_iterable(iter(lambda: found.fetchmany(_ROWS_AT_ONCE), []))
        for group_id, told in groupby(rows, itemgetter(0)):
            facts: tuple[list[Fact], list[Fact]] = ([], [])
            for _, is_topic, at_ms, seq, effect, generation_id, member_id, detail in told:
                detail = detail and named(detail, names)
                facts[is_topic].append(Fact(at_ms, seq, effect, generation_id, member_id, detail))
            yield group_id, *facts


def _key(group_id: str, fact: Fact) -> str:
    return f"{fact.at_ms}/{fact.seq}/{group_id}"


def _keys(batch: pa.RecordBatch) -> pa.Array:
    """The same of every row."""
    group_id, at_ms, seq = (batch[name].cast(pa.string()) for name in _KEY)
    return pc.binary_join_element_wise(at_ms, seq, group_id, "/")
