"""`rollcall explain` of request logs and dumps of __consumer_offsets, alone and beside what a broker prints."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rollcall.__main__ import main
from rollcall.answers.sql.engine import ask
from rollcall.answers.why.telling import headline, held
from rollcall.cli.explain import Asked, explain, explain_as_they_come
from rollcall.cli.why import explanation_of
from rollcall.history.facts import Fact
from rollcall.history.rebalances import SHORTEST_WAIT_SHOWN_MS
from rollcall.inputs.explained_files import answer_of
from rollcall.inputs.offsets_topic import record_in
from rollcall.inputs.offsets_topic.dumps.json_lines import write_line
from rollcall.inputs.offsets_topic.dumps.log_record import BadLine
from rollcall.inputs.offsets_topic.dumps.reading import Dump
from rollcall.inputs.printed.lines.entries import Clock
from rollcall.inputs.printed.wording import cause_sentence
from rollcall.inputs.recorded_groups import beside_lines
from rollcall.inputs.recordings import Recordings
from rollcall.programs.errors import UserError
from rollcall.programs.terminal import Terminal
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import GroupNotCovered
from rollcall.schemas.tables import AFTER_THE_LOGS
from rollcall.tables.home import Home
from tests.command_run import ran
from tests.golden.cases import cases, lay_out
from tests.offsets_topic.folded import OF_SESSIONS as TOPICS
from tests.printed.forged import VICTIM, perfect
from tests.printed.recorded import BROKERS, KAFKA_4_4
from tests.request_log.recordings import INCIDENTS as LOGS
from tests.source_tree import ROOT

CAPTURES = ROOT / "tests" / "captures"
KILLED = CAPTURES / "d-kill" / "requests.log.gz"
LOG, TOPIC = "requests.log.gz", "offsets-topic.jsonl.gz"
INCIDENTS = ("q-consumer-slow", "n-classic-mixed")
RECORDINGS = [
    (KILLED,),
    *((CAPTURES / name / file,) for name in INCIDENTS for file in (LOG, TOPIC)),
    *((CAPTURES / name / TOPIC, BROKERS / f"{name}.log.gz") for name in INCIDENTS),
]
SAME_WORDS = ("d-kill/half-log+lines", "n-classic-mixed/log")
QUERY = """
    select group_id, to_generation_id, cause, is_inferred, cause_member_id, cause_client_id, cause_client_host,
      cause_candidates from rebalances
"""
EVIDENCE = """
    select group_id, request_id, if(effect = 'rebalance_started', generation_id + 1, generation_id) as to_generation_id
    from effects where effect in ('rebalance_started', 'rebalance_ended')
"""
NAMES = ("group_id", "cause", "is_inferred", "cause_member_id", "cause_client_id", "cause_client_host")
_Said = tuple[Any, ...]


def answer(capsys: pytest.CaptureFixture[str], *paths: Path | str, **asked: Any) -> dict[str, Any]:
    explain([str(path) for path in paths], Asked(**asked), "json", Terminal())
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def shown(*paths: Path | str, **asked: Any) -> str:
    written = io.StringIO()
    explain([str(path) for path in paths], Asked(**asked), "text", Terminal(file=written, highlight=False))
    return written.getvalue()


def rebalances(found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(group["group_id"], one) for group in found["groups"] for one in group["rebalances"]]


def culprits(found: dict[str, Any]) -> Counter[_Said]:
    """What `explain` says of every rebalance."""
    rows = ({**one, "group_id": group_id} for group_id, one in rebalances(found))
    return Counter(
        (*(row[name] for name in ("generation_id", *NAMES)), *sorted(set(row["cause_candidates"]))) for row in rows
    )


def culprits_in(home: Path) -> Counter[_Said]:
    """What a home says of every rebalance."""
    return Counter(
        (*(row[name] for name in ("to_generation_id", *NAMES)), *(row["cause_candidates"] or ()))
        for row in ask(home, QUERY).rows_by_column()
    )


def replayed(home: Path, *recordings: Path) -> Path:
    assert main(["replay", " ".join(map(str, recordings)), "--home", str(home), "--processes", "1"]) == 0
    return home


@pytest.mark.parametrize("recordings", RECORDINGS, ids=lambda paths: "-".join(path.parts[-2] for path in paths))
def test_of_every_rebalance_it_says_what_a_home_of_the_recordings_says(
    recordings: tuple[Path, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = replayed(tmp_path / "home", *recordings)
    capsys.readouterr()
    said = culprits(answer(capsys, *recordings))
    assert said.total() > 3
    assert said == culprits_in(home)


@pytest.mark.parametrize("name", INCIDENTS)
def test_all_of_an_incident_together_gives_each_rebalance_once(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, topic, lines = CAPTURES / name / LOG, CAPTURES / name / TOPIC, BROKERS / f"{name}.log.gz"
    home = replayed(tmp_path / "home", log, topic)
    capsys.readouterr()
    found = answer(capsys, log, topic, lines)
    assert culprits(found) == culprits_in(home)
    assert max(Counter((group_id, one["generation_id"]) for group_id, one in rebalances(found)).values()) == 1
    files = {entry["file"] for _, one in rebalances(found) for entry in one["evidence"]}
    assert files == {str(log), str(lines)}
    printed = {group["group_id"]: group["findings"] for group in answer(capsys, lines)["groups"]}
    assert {group["group_id"]: group["findings"] for group in found["groups"]} == printed


@pytest.mark.parametrize("left_out", [None, 0, 1, 2])
@pytest.mark.parametrize("name", ["k44-classic", "k44-mixed", "k44-newer"])
def test_what_a_kafka_4_4_leaves_tells_of_the_same_rebalances(
    name: str, left_out: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [LOGS / f"{name}.log.gz", TOPICS / f"{name}.dump.gz", KAFKA_4_4 / f"{name}.log.gz"]
    if left_out is not None:
        del paths[left_out]
    true = json.loads((LOGS / f"{name}.json").read_text())
    reported: dict[str, list[Any]] = {group: [] for group in true}
    for group, one in rebalances(answer(capsys, *paths)):
        reported[group].append([one["generation_id"] - 1, one["cause"], one["cause_member_id"]])
    assert reported == true


def test_a_topic_from_which_compaction_removed_records_is_merged_as_in_a_home(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, dump = CAPTURES / "n-classic-mixed" / LOG, tmp_path / "offsets.jsonl"
    records = list(Dump([CAPTURES / "n-classic-mixed" / TOPIC], fail))
    latest, chance = {record.key: record for record in records}, Random(1)
    left = [record for record in records if latest[record.key] is record or chance.random() >= 0.8]
    assert len(left) < len(records)
    dump.write_bytes(b"".join(write_line(record) + b"\n" for record in left))
    home = replayed(tmp_path / "home", log, dump)
    capsys.readouterr()
    assert culprits(answer(capsys, log, dump)) == culprits_in(home)


@pytest.mark.parametrize(
    "recordings",
    [paths for paths in RECORDINGS if paths[0].name == TOPIC],
    ids=lambda paths: "-".join(path.parts[-2] for path in paths),
)
def test_of_every_rebalance_it_names_what_shows_it_in_a_home(
    recordings: tuple[Path, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A home names a rebalance's records too, and of its lines those that know it better."""
    home = replayed(tmp_path / "home", *recordings)
    capsys.readouterr()
    of_home, explained = defaultdict[_Said, set[str]](set), defaultdict[_Said, set[str]](set)
    for row in ask(home, EVIDENCE).rows_by_column():
        of_home[row["group_id"], row["to_generation_id"]].update(row["request_id"].split(", "))
    for group_id, one in rebalances(answer(capsys, *recordings)):
        lines = {f"{entry['file']}:{entry['line']}" for entry in one["evidence"]}
        explained[group_id, one["generation_id"]] |= lines | {*one["records"]}
    assert of_home.keys() == explained.keys()
    for rebalance, shown_by in of_home.items():
        assert shown_by <= explained[rebalance]
        assert {one for one in explained[rebalance] if record_in(one)} == {one for one in shown_by if record_in(one)}
    lines = {one for shown_by in of_home.values() for one in shown_by if not record_in(one)}
    assert bool(lines) is (len(recordings) > 1)


def fail(line: BadLine) -> None:
    raise AssertionError(line)


def test_a_request_log_names_the_lines_that_began_and_ended_a_rebalance(capsys: pytest.CaptureFixture[str]) -> None:
    with gzip.open(KILLED, "rt") as file:
        lines = file.read().splitlines()
    found = {one["generation_id"]: one for _, one in rebalances(answer(capsys, KILLED, group_id="clicks-agg"))}
    apis = {
        number: [lines[entry["line"] - 1].split('"requestApiKeyName":"')[1].split('"')[0] for entry in one["evidence"]]
        for number, one in found.items()
    }
    # No line is about a session that ends; its end is the leader's SyncGroup.
    assert apis == {1: ["JOIN_GROUP", "SYNC_GROUP"], 2: ["SYNC_GROUP"], 3: ["JOIN_GROUP", "SYNC_GROUP"]}
    silent = "clicks-agg-1 on 127.0.1.15 sent no heartbeat within its session timeout (10 s) and was removed."
    assert found[2]["sentence"] == silent
    assert found[2]["is_inferred"] is False


def test_text_of_a_request_log_says_what_json_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(shown(KILLED).split())
    assert "d-kill/requests.log.gz: a broker's request log, 485 lines, 463 about groups" in text
    for _, one in rebalances(answer(capsys, KILLED)):
        assert one["sentence"] in text
        assert f" on {one['cause_client_host'].lstrip('/')} " in one["sentence"]
    assert "On which hosts" not in text


def test_who_kept_others_waiting_joined_late_or_was_to_assign() -> None:
    text = shown(CAPTURES / "t-lag" / LOG, group_id="orders-coop") + shown(
        CAPTURES / "t-lag" / LOG, group_id="orders-eager"
    )
    said = [line.strip() for line in text.splitlines() if "kept the others waiting" in line]
    assert said[:2] == [
        "orders-coop-2 kept the others waiting for 52 ms: it leads, and its assignment was awaited.",
        "orders-coop-0 kept the others waiting for 2.976 s: it rejoined 2.978 s after the beginning, 4 ms after the "
        "response to a heartbeat had notified it.",
    ]


@pytest.mark.parametrize(
    "recordings",
    [*RECORDINGS, (CAPTURES / "t-lag" / LOG,)],
    ids=lambda paths: "-".join(path.parts[-2] for path in paths),
)
def test_who_kept_others_waiting_is_said_as_why_says_it(
    recordings: tuple[Path, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(replayed(tmp_path / "home", *recordings))
    capsys.readouterr()
    for group_id, one in rebalances(answer(capsys, *recordings)):
        if one["outcome"] != "completed" or one["began_at"] is None:
            continue
        found = held(explanation_of(home, group_id, one["generation_id"]))[:1]
        longest = [(ms, f": {why}.") for _, ms, why in found if ms >= SHORTEST_WAIT_SHOWN_MS]
        ours = one["held_by"]
        assert longest == ([] if ours is None else [(ours["ms"], ours["sentence"][-len(longest[0][1]) :])])


def test_times_of_a_request_log_are_of_the_zone_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    def began(**asked: Any) -> str:
        ((_, one),) = [
            one
            for one in rebalances(answer(capsys, KILLED, group_id="clicks-agg", **asked))
            if one[1]["generation_id"] == 2
        ]
        return str(one["began_at"])

    assert began() == "2026-11-21T05:38:59.064"
    assert began(zone=ZoneInfo("Asia/Kolkata")) == "2026-11-21T00:08:59.064Z"


def test_lines_tell_of_groups_and_generations_that_a_request_log_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log was switched on after the first rebalances, and has nothing of one group. It knows the others' hosts."""
    late = tmp_path / "kafka-request.log"
    with gzip.open(KILLED, "rt") as file:
        lines = file.read().splitlines(keepends=True)
    late.write_text("".join(line for line in lines if line[1:20] >= "2026-11-21 05:39:03" and "views-agg" not in line))
    printed = BROKERS / "d-kill.log.gz"
    by_lines = rebalances(answer(capsys, printed))
    found = rebalances(answer(capsys, late, printed))
    assert Counter((group_id, one["generation_id"]) for group_id, one in found) == Counter(
        (group_id, one["generation_id"]) for group_id, one in by_lines
    )
    by_generation = {(group_id, one["generation_id"]): one for group_id, one in found}
    assert by_generation["clicks-agg", 3]["cause_client_host"] == "/127.0.1.22"
    for group_id, one in by_lines:
        if group_id == "views-agg" or one["generation_id"] == 1:
            both = by_generation[group_id, one["generation_id"]]
            host, who = both["cause_client_host"] or "", one["cause_client_id"]
            by_log = {"cause_client_host": host, "sentence": one["sentence"].replace(who, f"{who} on {host[1:]}")}
            assert both == (one | by_log if host else one)
    assert by_generation["views-agg", 1]["cause_client_host"] is None
    assert by_generation["audit-trail", 1]["cause_client_host"] == "/127.0.1.13"


def test_lines_of_another_zone_are_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    topic, lines = CAPTURES / "n-classic-mixed" / TOPIC, BROKERS / "n-classic-mixed.log.gz"
    assert not any("at other times" in sentence for sentence in answer(capsys, topic, lines)["unknown"])
    found = answer(capsys, topic, lines, zone=ZoneInfo("Asia/Kolkata"))
    assert culprits(found) == culprits(answer(capsys, topic))
    assert (
        "What the lines add to the rebalances of rates-feed: they have the same generations at other times. --zone "
        "names the zone of times that are printed without one." in found["unknown"]
    )


@pytest.mark.parametrize("recording", [LOG, TOPIC])
def test_lines_without_dates_are_said_to_be(recording: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They cannot be laid beside a recording, as the same lines with their dates are."""
    folder, lines = CAPTURES / "n-classic-mixed", BROKERS / "n-classic-mixed.log.gz"
    undated = tmp_path / "server.log"
    undated.write_bytes(re.sub(rb"(?m)^\[[\d-]{10} ", b"[", gzip.decompress(lines.read_bytes())))
    found = answer(capsys, folder / recording, undated)
    assert culprits(found) == culprits(answer(capsys, folder / recording))
    assert [sentence for sentence in found["unknown"] if sentence.startswith("What the lines add")] == [
        "What the lines add to the rebalances of basket-svc, nightly-batch, parcels-track, rates-feed, stock-level: "
        "they have the same generations, and times without a date."
    ]


def test_a_group_whose_records_are_not_read_is_said_to_be() -> None:
    content = GroupNotCovered(at_ms=1, why="share")
    fact = Fact(1, AFTER_THE_LOGS, EffectName.GROUP_NOT_COVERED, content=content)
    recordings = Recordings()
    recordings.groups["labels"].facts.append(fact)
    (group,) = beside_lines(recordings, [], Clock.UTC)
    assert (group.group_type, group.rebalances) == ("share", [])
    assert recordings.left_out == ["What labels did: it is a share group, whose records are not read."]


def test_a_broker_that_prints_all_its_logs_into_one_file_is_read_as_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = tmp_path / "broker.log"
    with gzip.open(KILLED) as requests, gzip.open(BROKERS / "d-kill.log.gz") as lines:
        texts = sorted([*requests.read().splitlines(), *lines.read().splitlines()], key=lambda line: line[:24])
    both.write_bytes(b"\n".join(texts) + b"\n")
    found = answer(capsys, both)
    assert found["files"][0]["kinds"] == ["a broker's request log", "a broker's log"]
    assert found["files"][0]["lines"] == len(texts)
    assert culprits(found) == culprits(answer(capsys, KILLED))


def test_the_files_of_a_rotation_are_one_request_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with gzip.open(KILLED) as file:
        lines = file.read().splitlines(keepends=True)
    (tmp_path / "kafka-request.log.2026-11-21-05").write_bytes(b"".join(lines[:200]))
    (tmp_path / "kafka-request.log").write_bytes(b"".join(lines[200:]))
    found = answer(capsys, tmp_path)
    assert culprits(found) == culprits(answer(capsys, KILLED))
    assert sum(file["lines"] for file in found["files"]) == len(lines)
    assert {Path(entry["file"]).name for _, one in rebalances(found) for entry in one["evidence"]} == {
        "kafka-request.log.2026-11-21-05",
        "kafka-request.log",
    }


def test_a_request_log_that_breaks_off_is_explained_up_to_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "requests.log.gz"
    log.write_bytes(KILLED.read_bytes()[:12_000])
    found = answer(capsys, log)
    (file,) = found["files"]
    assert "the file cannot be read from here on" in file["notes"][0]
    assert 0 < len(rebalances(found)) < 9


def test_what_is_too_large_is_left_to_a_replay(tmp_path: Path) -> None:
    log, topic = str(KILLED), str(CAPTURES / "n-classic-mixed" / TOPIC)
    printed = str(BROKERS / "n-classic-mixed.log.gz")
    most_bytes = 10 * Path(topic).stat().st_size - 1
    found = answer_of([log, topic, printed], None, most_bytes=most_bytes)
    by_file = {read.file: read for read in found.reads}
    for file in (log, topic):
        assert f"`rollcall replay {file}` makes a home of it" in by_file[file].notes[-1]
        assert by_file[file].lines == 0
    assert {one.source for group in found.groups for one in group.rebalances} == {"these lines"}


def test_a_log_in_json_whose_lines_have_the_field_of_a_dump_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "app.json"
    log.write_text('{"timestamp_ms": 1, "message": "started"}\n')
    (file,) = (file for file in answer(capsys, log, KILLED)["files"] if file["file"] == str(log))
    assert (file["kinds"], file["lines"]) == ([], 1)
    assert 'its first line: "{"timestamp_ms": 1, "message": "started"}"' in file["notes"][-1]


def test_a_request_log_without_a_group_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "kafka-request.log"
    with gzip.open(KILLED, "rt") as file:
        log.write_text("".join(line for line in file if "FIND_COORDINATOR" in line))
    (read,) = answer(capsys, log)["files"]
    assert (read["kinds"], read["lines_about_groups"]) == (["a broker's request log"], 0)
    assert read["notes"] == ["no request of a group is in it"]


def test_a_group_that_only_a_refused_request_names_is_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "kafka-request.log"
    with gzip.open(CAPTURES / "n-classic-mixed" / LOG, "rt") as file:
        deleted = next(line for line in file if "DELETE_GROUPS" in line)
    deleted = deleted.replace("nightly-batch", "nowhere").replace('"errorCode":0', '"errorCode":69')
    with gzip.open(CAPTURES / "raw-sample" / LOG, "rt") as file:
        log.write_text(file.read() + deleted)
    groups = {group["group_id"] for group in answer(capsys, log)["groups"]}
    assert groups == {"app-log", "app-new-protocol", "web-log"}


def test_a_dump_without_times_is_named_with_what_it_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = tmp_path / "topic.json"
    dump.write_text('{"key":{"type":1,"data":{"group":"orders"}},"value":null}\n')
    (file,) = answer(capsys, dump)["files"]
    assert file["kinds"] == ["a dump of __consumer_offsets"]
    assert file["notes"][-1].startswith("a JSON formatter of kafka-console-consumer wrote it")


def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with gzip.open(CAPTURES / "n-classic-mixed" / TOPIC, "rt") as file:
        lines = file.read().splitlines()
    dump = tmp_path / "offsets.jsonl"
    dump.write_text("\n".join([*lines[:9], '{"timestamp_ms": "never"}', *lines[9:]]) + "\n")
    (file,) = answer(capsys, dump)["files"]
    assert file["notes"][0].startswith("line 10 cannot be read: ")


@pytest.mark.parametrize("is_compressed", [True, False])
@pytest.mark.parametrize("name", [f"d-kill/{LOG}", f"n-classic-mixed/{TOPIC}"])
def test_a_recording_on_standard_input_is_read_as_from_a_file(name: str, is_compressed: bool, tmp_path: Path) -> None:
    packed = (CAPTURES / name).read_bytes()
    given = packed if is_compressed else gzip.decompress(packed)
    file = tmp_path / "recording"
    file.write_bytes(given)
    status, out, err = ran("explain", "--format", "json", "-", given=given, TMPDIR=str(tmp_path))
    assert (status, err) == (0, "")
    assert json.loads(out)["groups"]
    assert out == ran("explain", "--format", "json", str(file))[1].replace(str(file), "-")
    assert [*tmp_path.iterdir()] == [file]


def test_a_request_log_is_not_followed() -> None:
    with gzip.open(KILLED, "rt") as file:
        lines = file.read().splitlines()
    with pytest.raises(UserError, match=r"^-: is a broker's request log, and --follow follows what brokers"):
        explain_as_they_come([(lines, True)], Asked(), "text", Terminal(quiet=True))


@pytest.mark.parametrize(
    ("recording", "other"),
    [
        pytest.param(KILLED, "replay.spilled_dump", id="log"),
        pytest.param(CAPTURES / "n-classic-mixed" / TOPIC, "replay.spilled_log", id="topic"),
    ],
)
def test_nothing_slow_to_load_nor_of_another_input_is_loaded_for_a_recording(recording: Path, other: str) -> None:
    program = (
        "import sys\n"
        "from rollcall.__main__ import main\n"
        f"assert main(['explain', {str(recording)!r}, '--format', 'json']) == 0\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = done.stderr.split()
    assert {"pyspark", "pandas", "pyarrow", "numpy", "duckdb", "deltalake"}.isdisjoint(loaded)
    of_both_or_lines = {"following.merging_feed", "offsets_topic.beside_growing_lines"}
    assert {f"rollcall.inputs.{name}" for name in (other, *of_both_or_lines)}.isdisjoint(loaded)
    assert len(rebalances(json.loads(done.stdout))) >= 9


def test_a_rebalance_that_a_client_may_have_written_is_not_believed_beside_a_request_log_that_lacks_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = perfect(VICTIM).replace("2026-03-01 03:12:", "2026-11-21 05:39:").replace("orders", "clicks-agg")
    forged = forged.replace("old generation 1 ", "old generation 98 ").replace("generation 2 ", "generation 99 ")
    log = tmp_path / "server.log"
    log.write_text(gzip.decompress((BROKERS / "d-kill.log.gz").read_bytes()).decode() + forged + "\n")
    by_lines = {one["generation_id"]: one for _, one in rebalances(answer(capsys, log, group_id="clicks-agg"))}
    assert (by_lines[99]["cause"], by_lines[99]["is_inferred"]) == ("session_expired", True)
    both = [one["generation_id"] for _, one in rebalances(answer(capsys, KILLED, log, group_id="clicks-agg"))]
    assert 2 in both
    assert 99 not in both


@pytest.mark.parametrize("case", SAME_WORDS)
def test_why_says_what_set_a_rebalance_off_in_the_words_of_explain(case: str, tmp_path: Path) -> None:
    paths, home = [str(path) for path in lay_out(cases()[case], tmp_path)], tmp_path / "home"
    assert main(["replay", *paths, "--home", str(home), "--processes", "1"]) == 0
    for group in answer_of(paths, None).groups:
        for one in group.rebalances:
            clause = cause_sentence(one).partition("; reason given")[0].removesuffix(".")
            by_why = headline(explanation_of(Home(home), group.group_id, one.generation_id))
            assert by_why.casefold().startswith(clause.casefold())
