"""What the README and the pages by task show is what a reader gets: commands are run, and their output is
the output beside them.

Knows their text alone, and which other test runs a command that needs more than a shell.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readme.shown import block_with, blocks
from tests.source_tree import ROOT

HOME = ".rollcall-d-kill"
WITHIN_S = 400

# By a word of the block: the tests that run what cannot be run here (endless, for a cluster, for a broker).
RUN_ELSEWHERE = {
    "make run": "tests/run/test_make_run.py",
    "make package": "tests/cluster/test_cluster.py",
    "offsets-topic.jsonl.gz": "tests/streaming/test_topic_replay.py",
    "> offsets.txt": "tests/offsets_topic/test_dumps.py",
    "make shadow FROM=": "tests/peers_kafka/test_offsets_topic.py",
    "make alerts": "tests/alerts/test_process.py",
    "make export": "tests/exporter/test_process.py",
    "make gateway UPSTREAM=": "tests/peers_clients/test_upstream.py",
    "from kafka import": "tests/run/test_make_run.py",
}


def run(commands: str, home: Path, named: str = HOME) -> str:
    """What the commands print, run by a shell in the project's folder with a home of their own. named: as they do."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands.replace(named, str(home))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme") / "home"


@pytest.fixture(scope="module")
def replayed(home: Path) -> str:
    """What `make replay` and the first question print the second time; the home is there for the rest."""
    run(block_with("sh", "make replay LOG=tests/captures/d-kill/requests"), home)
    return run(block_with("sh", "make replay LOG=tests/captures/d-kill/requests"), home)


def test_a_broker_s_own_log_says_what_is_shown(tmp_path: Path) -> None:
    shown = block_with("text", "Its member id: clicks-agg-1-")
    assert shown in run(block_with("sh", "make explain LOG=tests/printed/brokers/d-kill.log.gz"), tmp_path)
    assert "tiles-cache" in run(block_with("sh", "brokers/q-consumer-slow.log.gz"), tmp_path)


def test_a_home_of_a_broker_s_own_log_says_what_is_shown(tmp_path: Path) -> None:
    printed = run(block_with("sh", "make replay LOG=tests/printed/"), tmp_path / "home", ".rollcall-printed")
    assert block_with("text", "who held what is unknown") in printed


def test_the_culprits_are_those_shown(replayed: str) -> None:
    assert "session_expired" in replayed
    for line in block_with("text", "┃ slowest_client_id").splitlines():
        assert line in replayed


def test_the_owner_is_the_one_shown(replayed: str, home: Path) -> None:
    assert run(block_with("sh", "from assignments"), home) == block_with("json", "from_at")


def test_why_says_what_is_shown(replayed: str, home: Path) -> None:
    page = run(block_with("sh", "make why ROLLCALL_HOME=.rollcall-d-kill"), home)
    assert page.startswith(block_with("text", "WHO AND WHY"))
    command = ".venv/bin/rollcall why clicks-agg --generation 2 --home .rollcall-d-kill"
    assert run(command, home) == page


@pytest.mark.parametrize(
    ("import_", "shown"), [("import duckdb", "started_at_utc"), ("import pandas", "cause.client_id")]
)
def test_the_tables_answer_without_spark(replayed: str, home: Path, import_: str, shown: str) -> None:
    program = block_with("python", import_)
    printed = run(f"{sys.executable} - <<'PROGRAM'\n{program}PROGRAM", home).splitlines()
    for line in block_with("text", shown).splitlines():
        assert line in printed


def test_what_if_says_what_is_shown() -> None:
    printed = run(block_with("sh", "make whatif"), Path())
    for line in block_with("text", "member-seconds stopped     │").splitlines():
        assert line in printed


def test_the_trace_answers() -> None:
    reported = [json.loads(line) for line in run(block_with("sh", "rollcall trace"), Path()).splitlines()]
    assert [(line["api"], line["error_code"]) for line in reported if "api" in line] == [
        ("JoinGroup", "MEMBER_ID_REQUIRED"),
        ("Heartbeat", "UNKNOWN_MEMBER_ID"),
    ]
    assert [line["effect"] for line in reported if "effect" in line] == ["group_created", "member_id_given"]


def test_every_command_is_run_by_a_test() -> None:
    source = Path(__file__).read_text()
    run_here = ["".join(found) for found in re.findall(r'run\(block_with\("sh", "([^"]+)"\)|\("(import \w+)"', source)]
    shown = [block.text for block in blocks() if block.language in ("sh", "python")]
    left = [text for text in shown if not any(word in text for word in (*run_here, *RUN_ELSEWHERE))]
    assert left == []
    assert [path for path in RUN_ELSEWHERE.values() if not (ROOT / path).exists()] == []
