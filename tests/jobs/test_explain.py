"""`rollcall explain`: what it prints, as text and for programs."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rollcall.__main__ import main
from rollcall.cli.explain import Asked, explain, explain_as_they_come
from rollcall.inputs.not_understood import NotUnderstood
from rollcall.inputs.printed.lines.files import CUT_MARK, LINE_BYTES, arriving_lines
from rollcall.inputs.printed.lines.wrappings import ENTRY_LINES
from rollcall.inputs.printed.reading import CUT, of_lines
from rollcall.programs.errors import UserError
from rollcall.programs.terminal import Terminal
from tests.source_tree import ROOT

LOGS = ROOT / "tests" / "printed"
KILLED = str(LOGS / "brokers" / "d-kill.log.gz")


def shown(*paths: str, **asked: Any) -> str:
    written = io.StringIO()
    explain(paths, Asked(**asked), "text", Terminal(file=written, highlight=False))
    return written.getvalue()


def answer(capsys: pytest.CaptureFixture[str], *paths: str, **asked: Any) -> dict[str, Any]:
    explain(paths, Asked(**asked), "json", Terminal())
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_group_alone_with_the_lines_that_say_it() -> None:
    text = shown(KILLED, group_id="clicks-agg", shows_evidence=True)
    assert "views-agg" not in text
    assert "generation 1 -> 2: session expired, completed in 2.009 s, 2 members" in text
    assert "d-kill.log.gz:" in text


def test_text_and_json_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(shown(KILLED).split())
    found = answer(capsys, KILLED)
    assert {group["group_id"] for group in found["groups"]} == {"views-agg", "clicks-agg", "audit-trail"}
    for group in found["groups"]:
        for one in (*group["rebalances"], *group["findings"]):
            assert " ".join(one["sentence"].split()) in text
            assert one["evidence"]
    for sentence in found["unknown"]:
        assert sentence in text


def test_a_group_that_kafka_0_9_removed_had_no_next_generation(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    stamp = "[2016-03-01 03:12:00,417] INFO [GroupCoordinator 0]:"
    texts = ("Preparing to restabilize group g with old generation 1", "Group g generation 1 is dead and removed")
    log.write_text("".join(f"{stamp} {text} (kafka.coordinator.GroupCoordinator)\n" for text in texts))
    assert "generation 1 -> none: unknown, left without members" in shown(str(log))


@pytest.mark.parametrize("log", [KILLED, str(ROOT / "tests" / "captures" / "d-kill" / "requests.log.gz")])
def test_what_lies_within_a_time(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    for since, until in (
        ("2026-11-21 05:38:58", "2026-11-21 05:39:02"),
        ("[2026-11-21 05:38:58,000]", "2026-11-21T07:39:02+02:00"),
        ("1795239538", "1795239542000"),
        ("05:38:58", "05:39:02"),
        ("today 05:38:58", "-42s"),
    ):
        (group,) = answer(capsys, log, group_id="clicks-agg", since=since, until=until)["groups"]
        assert [one["generation_id"] for one in group["rebalances"]] == [2], since


@pytest.mark.parametrize(("since", "rebalances"), [("-1h", 9), ("now", 1), ("yesterday 05:39", 9), ("05:39:40", 1)])
def test_a_moment_counts_from_the_latest_line(since: str, rebalances: int, capsys: pytest.CaptureFixture[str]) -> None:
    groups = answer(capsys, KILLED, since=since)["groups"]
    assert sum(len(group["rebalances"]) for group in groups) == rebalances


@pytest.mark.parametrize("option", ["since", "until"])
def test_a_moment_that_is_none_is_refused_before_a_file_is_read(option: str) -> None:
    with pytest.raises(UserError, match=f"^--{option} soon: invalid time"):
        shown("no-such-file", **{option: "soon"})


def test_a_client_that_gives_no_rebalance_is_reported_as_it_is() -> None:
    text = shown(str(LOGS / "field" / "f28.log"))
    assert "link-8.3.2: 0 rebalances" in text
    assert "It and the leader do not read the same config topic. (inferred)" in text


def test_who_is_only_inferred_to_have_kept_others_waiting_is_marked() -> None:
    assert "kept the others waiting for 4 min 59.9 s (inferred): it had learnt" in shown(
        str(LOGS / "field" / "f20.log")
    ).replace("\n    ", " ")


def test_a_file_without_lines_about_groups_says_what_was_looked_for(tmp_path: Path) -> None:
    other, third = tmp_path / "other.log", tmp_path / "third.log"
    other.write_text("GET / HTTP/1.1\n")
    third.write_text("GET /index.html HTTP/1.1\n")
    text = shown(str(other), str(third), KILLED)
    assert text.count("A file is understood if it has lines about consumer groups, of") == 1
    assert "not understood, 1 line, 0 about groups" in text
    assert 'its first line: "GET / HTTP/1.1"' in text
    (tmp_path / "empty.log").write_text("")
    assert "it is empty" in shown(str(tmp_path / "empty.log"), KILLED)


@pytest.mark.parametrize(
    ("line", "is_redpanda"),
    [
        ("INFO  2026-03-01 03:12:00,417 [shard 0] redpanda::main - application.cc:170 - Redpanda v23.3.5", True),
        ("DEBUG 2026-03-01 03:12:00,417 [shard  1:main] kafka - request_context.h:160 - handling a request", True),
        ("INFO  2026-03-01 03:12:00,417 [shard 0] init - installing SIGHUP handler", False),
    ],
)
def test_a_file_of_redpanda_s_is_told_apart_from_one_without_rebalances(
    line: str, is_redpanda: bool, tmp_path: Path
) -> None:
    log = tmp_path / "broker.log"
    log.write_text(f"{line}\n")
    with pytest.raises(NotUnderstood) as refused:
        shown(str(log))
    assert ("Redpanda prints rebalances only at TRACE" in str(refused.value)) == is_redpanda


def test_lines_that_are_not_read_are_counted_by_wording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "app.log"
    line = "%7|1772334720.{:03}|X|a#consumer-1| [thrd:main]: {}\n"
    texts = ('Group "g": leave (in state up)', *(f'Group "g" went {name}' for name in ("up", "up", "down", "4 m")))
    log.write_text("".join(line.format(place, text) for place, text in enumerate(texts)))
    sentence = "4 lines of librdkafka's log are not read: `Group ... went up` 2, `Group ... went down` 1, "
    assert sentence in shown(str(log)).replace("\n    ", " ")
    (one,) = answer(capsys, str(log))["files"][0]["unread"]
    assert (one["printed_by"], one["is_known"], one["lines"], one["others"]) == (
        "librdkafka's log (C, Python, Go, .NET)",
        True,
        4,
        0,
    )
    assert one["wordings"][0] == {"wording": "Group ... went up", "lines": 2}


def test_an_unknown_program_is_named_with_what_would_be_read(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text("".join(f"acme-kafka:ConsumerGroup Heartbeat error {code}\n" for code in (27, 25)))
    with pytest.raises(NotUnderstood) as refused:
        shown(str(log))
    text = str(refused.value)
    assert (
        "lines of acme-kafka:ConsumerGroup are about groups, by a program that is unknown: `Heartbeat error ...` 2"
        in text
    )
    assert "librdkafka (C, Python, Go, .NET), " in text


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.log"):
        shown(str(tmp_path / "nowhere.log"))


def test_times_without_a_zone_are_those_of_the_zone_that_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "[2026-03-29 03:12:00,417] [GroupCoordinator 1]: Stabilized group orders generation 1 with 2 members (G)\n"
        "2026-03-29T03:12:01.417Z [GroupCoordinator 1]: Stabilized group orders generation 2 with 2 members\n"
    )
    found = answer(capsys, str(log), zone=ZoneInfo("Europe/Berlin"))
    ended = [one["joined_at"] for one in found["groups"][0]["rebalances"]]
    assert ended == ["2026-03-29T01:12:00.417Z", "2026-03-29T03:12:01.417Z"]


def _as_they_come(*arriving: tuple[list[str], bool], **asked: Any) -> str:
    written = io.StringIO()
    explain_as_they_come(arriving, Asked(**asked), "text", Terminal(file=written, highlight=False))
    return written.getvalue()


def _with_pause(lines: list[str], **asked: Any) -> str:
    return _as_they_come((lines, True), **asked)


def test_a_log_that_is_followed_prints_each_rebalance_when_it_ends() -> None:
    with gzip.open(KILLED, "rt") as file:
        lines = file.read().splitlines()
    ends = [place for place, line in enumerate(lines) if "Assignment received" in line or "is now empty" in line]
    at_once, in_parts = _with_pause(lines), _as_they_come(*(([line], True) for line in lines))
    assert at_once.count("->") == len(ends)
    assert sorted(at_once.splitlines()) == sorted(in_parts.splitlines())
    assert _with_pause(lines[: ends[0]]) == ""
    assert _with_pause(lines[: ends[0] + 1]).count("->") == 1
    assert _as_they_come((lines[: ends[0] + 2], False)).count("->") == 1
    assert "clicks-agg" not in _with_pause(lines, group_id="views-agg")


def test_a_line_that_is_cut_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    at = "2026-03-01T03:12:00.417Z INFO "
    stack = [f"{at}[Consumer clientId=a, groupId=orders] (Re-)joining group", *["\tat a.b"] * ENTRY_LINES]
    _with_pause([f"{'a' * LINE_BYTES}{CUT_MARK}", "", *stack])
    assert capsys.readouterr().err.splitlines() == [f"rollcall: {of_lines(CUT, [number])}" for number in (1, 3)]


UNREAD = [f"%7|1772334720.{place:03}|X|a#consumer-1| [thrd:main]: Group went {place}" for place in range(3)]
SAID = "3 lines of librdkafka's log are not read: `Group went ...` 3\n"


def test_lines_that_are_not_read_are_counted_at_the_end_of_a_log_that_is_followed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    leaves = '%7|1772334720.000|X|a#consumer-1| [thrd:main]: Group "g": leave (in state up)'
    assert _with_pause([leaves, *UNREAD]).endswith(SAID)
    explain_as_they_come([([leaves, *UNREAD], True)], Asked(), "json", Terminal(quiet=True))
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["unread"][0]["lines"] == 3
    with pytest.raises(NotUnderstood, match="3 lines of librdkafka's log are not read"):
        _with_pause(UNREAD)


def test_and_when_ctrl_c_ends_it() -> None:
    def stopped() -> Iterator[tuple[list[str], bool]]:
        yield UNREAD, True
        raise KeyboardInterrupt

    written = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        explain_as_they_come(stopped(), Asked(), "text", Terminal(file=written, highlight=False))
    assert written.getvalue() == SAID


def test_lines_of_a_pipe_come_with_the_pauses_between_them() -> None:
    reader, writer = os.pipe()
    arriving = arriving_lines(reader)
    os.write(writer, b"one\r\ntw")
    assert next(arriving) == (["one"], True)
    os.write(writer, b"o\nthree")
    os.close(writer)
    assert [*arriving] == [(["two", "three"], True)]
    os.close(reader)


def test_lines_of_a_pipe_that_never_pauses_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollcall.inputs.printed.lines.files.BYTES_AT_ONCE", 1)
    reader, writer = os.pipe()
    arriving = arriving_lines(reader)
    os.write(writer, b"one\ntw")
    assert next(arriving) == (["one"], False)
    os.write(writer, b"o\n")
    assert next(arriving) == (["two"], False)
    os.close(writer)
    assert [*arriving] == [([], True)]
    os.close(reader)


def test_following_needs_standard_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--follow", KILLED]) == 2
    assert "--follow reads only standard input: use - as LOG." in capsys.readouterr().err


@pytest.mark.parametrize(
    "other", ["--follow", "--format json", "--group orders", "--since 05:39", "--until 05:39", "--evidence"]
)
def test_wordings_that_are_unknown_are_those_of_whole_files(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--unknown", *other.split(), "-"]) == 2
    said = capsys.readouterr()
    expected = f"rollcall: --unknown prints TOML of whole files: it cannot be combined with {other}.\n"
    assert (said.out, said.err) == ("", expected)


def test_a_pipe_is_read_once_and_a_word_says_that_it_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    writer = threading.Thread(target=pipe.write_bytes, args=(gzip.decompress(Path(KILLED).read_bytes()),))
    writer.start()
    text = shown(str(pipe))
    writer.join()
    assert text.replace(str(pipe), KILLED) == shown(KILLED)
    assert f"{pipe}: waiting for data from a pipe; Ctrl-C ends" in capsys.readouterr().err
