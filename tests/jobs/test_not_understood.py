"""`explain` and `replay` of files in which nothing is understood, and questions that have no answer."""

from __future__ import annotations

import gzip
import io
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from rollcall.__main__ import main
from rollcall.cli.explain import Asked, explain
from rollcall.cli.replay import replay_home
from rollcall.inputs.following import followed_cluster
from rollcall.inputs.printed import reading
from rollcall.programs.terminal import Terminal
from rollcall.tables.home import Home, HomeError
from tests.command_run import ran
from tests.printed.recorded import BROKERS
from tests.source_tree import ROOT

KILLED = BROKERS / "d-kill.log.gz"
CAPTURES = ROOT / "tests" / "captures"
CAPTURED = (CAPTURES / "d-kill" / "requests.log.gz", CAPTURES / "n-classic-mixed" / "offsets-topic.jsonl.gz")
LINES = gzip.decompress(KILLED.read_bytes())
PICTURE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\xff\xfe\n"
OTHERS = {
    "a.pdf": b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "a.png": PICTURE,
    "a.png.gz": gzip.compress(PICTURE),
    "nginx.log": b'10.0.0.1 - - [10/Oct/2026:13:55:36 +0000] "GET /groups HTTP/1.1" 200 2326\n',
    "app.log": b"2026-03-01 03:12:00,417 INFO main com.acme.Shop - started 3 workers\n",
    "empty.log": b"",
}


@pytest.fixture(params=OTHERS)
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    file = tmp_path / str(request.param)
    file.write_bytes(OTHERS[file.name])
    return file


def is_a_sentence(text: str, file: object) -> bool:
    begins, lines = f"rollcall: {file}: ", text.splitlines()
    says = "input is empty." in text or "is understood" in text
    return len(lines) == 1 and lines[0].startswith(begins) and says and not set(text.rstrip("\n")) & set("\ufffd\\\0")


# ---------------------------------------------------------------- nothing is understood


@pytest.mark.parametrize("form", ["text", "json"])
def test_explaining_what_is_not_understood_is_an_error(
    other: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(other), "--format", form]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert is_a_sentence(said.err, other)


def test_one_file_that_is_understood_is_an_answer(other: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(other), str(KILLED)]) == 0
    said = capsys.readouterr()
    assert said.err == f"rollcall: {other}: not understood, ignored\n"
    assert f"{other}: not understood" in said.out
    assert "clicks-agg: 3 rebalances" in said.out
    assert not set(said.out) & {"\ufffd", "\0"}


@pytest.mark.parametrize("words", [(), ("--follow",)])
def test_standard_input_without_anything_is_an_error(words: tuple[str, ...]) -> None:
    for given in (b"", OTHERS["app.log"]):
        status, out, err = ran("explain", *words, "-", given=given)
        assert (status, out) == (2, "")
        assert is_a_sentence(err, "-")


def test_replaying_what_is_not_understood_makes_no_home(
    other: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    assert main(["replay", str(other), "--home", str(home)]) == 2
    assert is_a_sentence(capsys.readouterr().err, other)
    assert not home.exists()
    for understood in (KILLED, *CAPTURED):
        assert main(["replay", str(other), str(understood), "--home", str(home), "--fresh"]) == 0
        said = capsys.readouterr()
        assert said.err == f"rollcall: {other}: not understood, ignored\n"
        assert "rebalances (UTC)" in said.out


# ---------------------------------------------------------------- nothing is left


@pytest.mark.parametrize("error", [HomeError("no"), KeyboardInterrupt(), ValueError()])
@pytest.mark.parametrize("is_fresh", [True, False])
def test_a_replay_that_fails_leaves_no_home(error: BaseException, is_fresh: bool, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")

    def fails() -> None:
        with replay_home(home, is_fresh=is_fresh):
            Path(home.effects).mkdir()
            (Path(home.effects) / "rows").write_text("")
            raise error

    with pytest.raises(type(error)):
        fails()
    assert not home.path.exists()


def test_a_job_that_makes_a_history_keeps_its_home(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with suppress(KeyboardInterrupt), home.locked("a job"):
        home.check_kind("live", "driver")
        Path(home.checkpoint).mkdir()
        (Path(home.checkpoint) / "metadata").write_text("")
        raise KeyboardInterrupt
    assert home.read_note()["kind"] == "live"
    with home.locked("the next"):
        pass
    assert home.read_note()["kind"] == "live"


def test_a_folder_of_other_files_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with Home(tmp_path).locked("a job"):
        pass
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_run_that_cannot_listen_leaves_no_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        status, _, err = ran("run", "--home", str(home), "--listen", place, "--page", "0")
    assert status == 2
    assert "Address already in use" in err
    assert not home.exists()


def test_a_run_without_java_leaves_no_home(tmp_path: Path) -> None:
    home, places = tmp_path / "home", ("--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--page", "0")
    status, _, err = ran("run", "--home", str(home), *places, JAVA_HOME="/nowhere")
    assert status == 2
    assert "JAVA_HOME is /nowhere" in err
    assert not home.exists()


def test_a_shadow_of_a_cluster_that_does_not_answer_leaves_no_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(followed_cluster, "ANSWER_WITHIN_S", 0.2)
    home, conf = tmp_path / "home", tmp_path / "cluster.conf"
    conf.write_text("spark.coordinator.metrics.listen=127.0.0.1:0\n")
    assert main(["shadow", "kafka://127.0.0.1:1", "--conf", str(conf), "--home", str(home)]) == 2
    assert "no broker answered" in capsys.readouterr().err
    assert not home.exists()


# ---------------------------------------------------------------- compressed input


@pytest.mark.parametrize("name", ["server.log", "server.log.gz"])
@pytest.mark.parametrize("is_compressed", [True, False])
def test_gzip_is_known_by_its_first_bytes(name: str, is_compressed: bool, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(gzip.compress(LINES) if is_compressed else LINES)
    written = io.StringIO()
    explain([str(file)], Asked(), "text", Terminal(file=written, highlight=False))
    assert "clicks-agg: 3 rebalances" in written.getvalue()


def test_standard_input_may_be_compressed() -> None:
    plain, compressed = (ran("explain", "-", given=given) for given in (LINES, gzip.compress(LINES)))
    assert plain == compressed
    assert plain[0] == 0


def test_compressed_input_that_is_cut_off_is_an_error() -> None:
    status, out, err = ran("explain", "-", given=gzip.compress(LINES)[:-40])
    assert (status, out) == (2, "")
    assert err.startswith("rollcall: -: cannot be read: ")


# ---------------------------------------------------------------- questions without an answer


@pytest.mark.parametrize(
    ("group_id", "says"),
    [
        ("clicks-ag", "did you mean clicks-agg?"),
        ("nope", "known groups: audit-trail, clicks-agg, views-agg."),
    ],
)
def test_a_group_that_is_not_there_is_an_error(group_id: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(KILLED), "--group", group_id]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"rollcall: {group_id}: no such group in {KILLED}; {says}\n"


@pytest.mark.parametrize("option", [("--since", "2027-01-01 00:00"), ("--until", "2020-01-01 00:00")])
def test_a_time_without_rebalances_says_when_they_are(
    option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    from_to = "2026-11-21 05:38:37.029 to 2026-11-21 05:39:43.585"
    assert main(["explain", str(KILLED), *option]) == 0
    assert f"No rebalance in this time; the 9 in these files ran from {from_to}." in capsys.readouterr().out
    assert main(["explain", str(KILLED)]) == 0
    assert "No rebalance in this time" not in capsys.readouterr().out


# ---------------------------------------------------------------- evidence


def quoted(text: str, file: object) -> dict[int, str]:
    """The lines that an answer quotes of a file, by number."""
    places = [line.strip().removeprefix(f"{file}:") for line in text.splitlines() if line.startswith(f"      {file}:")]
    return {int(number): quote for number, _, quote in (place.partition(": ") for place in places)}


def test_evidence_is_the_lines_themselves(tmp_path: Path) -> None:
    plain = tmp_path / "server.log"
    plain.write_bytes(LINES)
    lines = LINES.decode().splitlines()
    answers = {str(file): ran("explain", str(file), "--evidence")[1] for file in (plain, KILLED)}
    answers["-"] = ran("explain", "-", "--evidence", given=LINES)[1]
    for file, text in answers.items():
        quotes = quoted(text, file)
        assert len(quotes) > 20
        for number, quote in quotes.items():
            assert len(quote) >= 40
            assert lines[number - 1].startswith(quote)
    followed = quoted(ran("explain", "--follow", "-", "--evidence", given=LINES)[1], "-")
    assert followed.keys() <= quoted(answers["-"], "-").keys()
    assert all(followed.values())


def test_evidence_of_a_request_log_is_its_lines() -> None:
    log = ROOT / "tests" / "captures" / "d-kill" / "requests.log.gz"
    lines = gzip.decompress(log.read_bytes()).decode().splitlines()
    quotes = quoted(ran("explain", str(log), "--evidence")[1], log)
    assert quotes
    assert all(lines[number - 1].startswith(quote) for number, quote in quotes.items())


def test_evidence_fits_a_screen_and_cannot_act_on_it(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(LINES.replace(b"(reason: ", b"(reason: \x1b[31m\x07"))
    for width in (20, 120, 500):
        written = io.StringIO()
        screen = Terminal(file=written, highlight=False, force_terminal=True, width=width, color_system=None)
        explain([str(log)], Asked(shows_evidence=True), "text", screen)
        shown = written.getvalue().splitlines()
        assert any(f"{log}:" in line for line in shown)
        longest_word = max(map(len, written.getvalue().split()))
        assert all(len(line) <= max(width, longest_word + 8) for line in shown)
        assert (r"\x1b[31m\x07" in written.getvalue()) == (width == 500)
        assert "\x07" not in written.getvalue()


# ---------------------------------------------------------------- several files


@pytest.mark.parametrize("as_one_word", [True, False])
def test_a_replay_takes_several_files(as_one_word: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = LINES.splitlines(keepends=True)
    parts = (tmp_path / "server.log.1", tmp_path / "server.log")
    for part, kept in zip(parts, (lines[:30], lines[30:]), strict=True):
        part.write_bytes(b"".join(kept))
    named = [" ".join(map(str, parts))] if as_one_word else [*map(str, parts)]
    assert main(["replay", "--home", str(tmp_path / "home"), *named]) == 0
    said = capsys.readouterr().out
    assert "2 files read" in said
    assert "rebalances (UTC), 9:" in said


# ---------------------------------------------------------------- standard input, and what is large


@pytest.mark.parametrize("is_compressed", [True, False])
@pytest.mark.parametrize("log", [KILLED, *CAPTURED], ids=lambda log: str(log.name))
def test_a_replay_reads_standard_input_as_it_reads_a_file(log: Path, is_compressed: bool, tmp_path: Path) -> None:
    given = log.read_bytes() if is_compressed else gzip.decompress(log.read_bytes())
    file = tmp_path / "-"
    file.write_bytes(given)
    answers = []
    for number, named in enumerate(("-", str(file))):
        home = tmp_path / f"home-{number}"
        status, out, err = ran("replay", named, "--home", str(home), given=given, TMPDIR=str(tmp_path))
        assert (status, err) == (0, "")
        out = out.replace(str(home), "HOME").replace(str(file), "-")
        answers.append([line for line in out.splitlines() if " in " not in line])
    assert answers[0] == answers[1]
    assert len(answers[0]) > 3
    assert {one.name for one in tmp_path.iterdir()} == {"-", "home-0", "home-1"}


def test_a_replay_of_other_standard_input_makes_no_home(tmp_path: Path) -> None:
    for given in OTHERS.values():
        status, _, err = ran("replay", "-", "--home", str(tmp_path / "home"), given=given)
        assert status == 2
        assert is_a_sentence(err, "-")
        assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("what", ["explain", "replay"])
@pytest.mark.parametrize(
    ("name", "text"),
    [("a.pdf", OTHERS["a.pdf"] + b"\0" * (3 << 20)), ("nginx.log", OTHERS["nginx.log"] * 20_000)],
    ids=["pdf", "nginx"],
)
def test_a_large_file_of_others_is_an_error_after_its_first_lines(
    what: str,
    name: str,
    text: bytes,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "LARGE_BYTES", 1 << 20)
    monkeypatch.setattr(reading, "LINES_TRIED", 100)
    file, home = tmp_path / name, tmp_path / "home"
    file.write_bytes(text)
    assert main([what, str(file), *(["--home", str(home)] if what == "replay" else [])]) == 2
    sentence, *notes = capsys.readouterr().err.splitlines(keepends=True)
    assert is_a_sentence(sentence, file)
    assert ["only its first" in note for note in notes] == [True] * (what == "explain" and name == "nginx.log")
    assert not home.exists()


def test_of_a_large_file_all_is_read_if_one_of_its_first_lines_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(LINES)
    (whole,) = reading.read_files([str(log)])
    monkeypatch.setattr(reading, "LARGE_BYTES", 10)
    monkeypatch.setattr(reading, "LINES_TRIED", 3)
    (large,) = reading.read_files([str(log)])
    assert large == whole
    log.write_bytes(OTHERS["nginx.log"] * 1000 + LINES)
    (first,) = reading.read_files([str(log)])
    assert not first.facts
    assert first.lines < 1000
