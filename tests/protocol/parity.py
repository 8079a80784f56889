"""A page: which test proves which rule, and what became of each of Kafka's own tests.

    python -m tests.protocol.parity        # writes build/parity.md

Made from the marks on the tests (`tests.protocol.rules`), the checklist beside this file and the recorded scenarios.
Knows how to lay out a page; must not know the protocol.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.kafka_versions import KafkaVersion
from tests.protocol.rules import Rule, rules_of
from tests.protocol.scenario import CONSUMER_PROFILES, FOLDER, differing_steps, read, scenario_files

HERE = Path(__file__).resolve().parent
CONSUMER_LIST = "consumer_kafka_tests.txt"
PAGE = HERE.parent.parent / "build" / "parity.md"
CONSUMER_TESTS = "test_consumer"
"""How the tests of the newer group protocol begin, which have a checklist of their own."""
SUITES = {
    "J": "GroupMetadataManagerTest",
    "G": "ClassicGroupTest",
    "O": "OffsetMetadataManagerTest",
    "S": "GroupCoordinatorTest",
    "C": "GroupCoordinatorConcurrencyTest",
}
CONSUMER_SUITES = {
    "M": "GroupMetadataManagerTest",
    "V": "GroupCoordinatorServiceTest",
    "G": "ConsumerGroupTest",
    "N": "ConsumerGroupMemberTest",
    "B": "CurrentAssignmentBuilderTest",
    "T": "TargetAssignmentBuilderTest",
    "H": "UniformHomogeneousAssignmentBuilderTest",
    "X": "UniformHeterogeneousAssignmentBuilderTest",
    "R": "RangeAssignorTest",
    "O": "OffsetMetadataManagerTest",
    "Y": "TopicRegexResolverTest",
    "K": "GroupCoordinatorRecordHelpersTest",
    "Z": "GroupCoordinatorRecordSerdeTest",
    "S": "GroupCoordinatorShardTest",
    "U": "UtilsTest",
}
HEAD = """# Parity with Kafka's group coordinator

Every rule of the classic group protocol and of the newer one (KIP-848) has a recorded scenario, which is held against
the answers of a real Apache Kafka 4.3.1, or a test under `tests/protocol`. Beside a rule stand the tests of Kafka's own
suites that pin it down too. What is done otherwise on purpose stands in docs/decisions.
"""


ANSWERS_HEAD = "| answers as | protocol | scenarios | answers | equal |\n|---|---|---|---|---|\n"


class Proof(NamedTuple):
    """A rule and the test that proves it, as `module.test`."""

    rule: Rule
    test: str


@dataclass(frozen=True)
class Item:
    """One line of the checklist. reasons: for the tests among them that do not apply here. scenarios: by test, the
    recorded scenario that pins its rule down.
    """

    number: int
    suite: str
    names: tuple[str, ...]
    reasons: dict[str, str]
    scenarios: dict[str, str]


def proofs() -> list[Proof]:
    """Every mark on every test, file by file, in the order written."""
    return [
        Proof(rule, f"{module}.{name}")
        for module, tests in ((path.stem, functions_of(path)) for path in sorted(HERE.glob("test_*.py")))
        for name, test in tests
        for rule in rules_of(test)
    ]


def functions_of(path: Path) -> Iterator[tuple[str, Callable[..., None]]]:
    """The tests of one file by name, in the order written."""
    module = importlib.import_module(f"tests.protocol.{path.stem}")
    for name, value in vars(module).items():
        if name.startswith("test_") and callable(value):
            yield name, value


def is_of_consumers(proof: Proof) -> bool:
    """Whether a proof is about the newer group protocol."""
    return proof.test.startswith(CONSUMER_TESTS)


def checklist(file: str = "kafka_tests.txt") -> list[Item]:
    """Kafka's own tests, of the classic protocol unless the file is another."""
    items: list[Item] = []
    for line in (HERE / file).read_text().splitlines():
        if line.startswith("- "):
            name, _, reason = line.removeprefix("- ").partition(": ")
            items[-1].reasons[name] = reason
        elif line.startswith("+ "):
            scenario, _, names = line.removeprefix("+ ").partition(": ")
            items[-1].scenarios.update(dict.fromkeys(names.split(), scenario))
        elif not line.startswith("#"):
            number, suite, *tests = line.split()
            items.append(Item(int(number), suite, tuple(tests), {}, {}))
    return items


def proven_by(found: Iterable[Proof], items: Iterable[Item]) -> dict[str, list[str]]:
    """The tests and the scenarios by the names of Kafka's tests that they stand for."""
    by_origin = {name: [scenario] for item in items for name, scenario in item.scenarios.items()}
    for proof in found:
        for origin in proof.rule.origins:
            tests = by_origin.setdefault(origin, [])
            if proof.test not in tests:
                tests.append(proof.test)
    return by_origin


# ---------------------------------------------------------------- the page


def page() -> str:
    """The whole page."""
    found = proofs()
    classic = [proof for proof in found if not is_of_consumers(proof)]
    newer = [proof for proof in found if is_of_consumers(proof)]
    tests = [
        *_kafkas_tests("Kafka's own tests", classic, checklist(), SUITES),
        *_kafkas_tests("Kafka's own tests of consumer groups", newer, checklist(CONSUMER_LIST), CONSUMER_SUITES),
    ]
    return "\n".join([HEAD, *_rules(found), *_invariants(), *tests, *_scenarios()]) + "\n"


def _rules(found: list[Proof]) -> Iterator[str]:
    topics = sorted({proof.rule.topic for proof in found}, key=lambda topic: (topic.lower(), topic))
    yield f"## Rules\n\n{len(found)} rules in {len(topics)} topics."
    for topic in topics:
        yield f"\n### {topic}\n\n| rule | test | Kafka's tests of it |\n|---|---|---|"
        for proof in found:
            if proof.rule.topic == topic:
                yield _row(proof.rule.text, f"`{proof.test}`", _code(proof.rule.origins))


def _invariants() -> Iterator[str]:
    yield "\n## Invariants\n\nWhat holds whatever is asked, over requests and times chosen at random.\n"
    for path in sorted(HERE.glob("test_invariants*.py")):
        for name, _ in functions_of(path):
            yield f"- {name.removeprefix('test_').replace('_', ' ')} (`{path.stem}`)"


def _kafkas_tests(title: str, found: list[Proof], items: list[Item], suites: dict[str, str]) -> Iterator[str]:
    by_origin = proven_by(found, items)
    names = [name for item in items for name in item.names]
    proven = sum(name in by_origin for name in names)
    yield f"\n## {title}\n"
    yield f"{len(items)} items with {len(names)} tests: {proven} proven here, {len(names) - proven} do not apply."
    yield "\n| # | suite | Kafka's test | proven by, or why it does not apply |\n|---|---|---|---|"
    for item in items:
        for name in item.names:
            what = item.reasons.get(name) or _code(by_origin.get(name, ()))
            suite = ", ".join(suites[letter] for letter in item.suite.split("/"))
            yield _row(str(item.number), suite, f"`{name}`", what)


def _scenarios() -> Iterator[str]:
    yield "\n## Recorded scenarios\n"
    yield "Each is a file of `tests/scenarios`: requests, their times, and what Apache Kafka 4.3.1 answered and when."
    for folder, paths in groupby(scenario_files(), key=lambda path: path.parent):
        scenarios = [read(path) for path in paths]
        steps = sum(len(scenario.steps) for scenario in scenarios)
        yield f"\n### {folder.relative_to(FOLDER)}\n\n{len(scenarios)} scenarios, {steps} requests."
        if len({scenario.title for scenario in scenarios}) == 1:
            yield scenarios[0].title + "."
            continue
        yield "\n| scenario | settings | what it shows |\n|---|---|---|"
        for scenario in scenarios:
            yield _row(scenario.name, scenario.profile, scenario.title)


def answers_table() -> str:
    """The table of docs/what-is-proven.md: of each version and protocol how many recorded answers are equal."""
    rows = []
    for kafka in KafkaVersion:
        scenarios = [read(path, kafka) for path in scenario_files()]
        for protocol, is_newer in (("classic", False), ("consumer (KIP-848)", True)):
            chosen = [scenario for scenario in scenarios if (scenario.profile in CONSUMER_PROFILES) is is_newer]
            answers = sum("lenient" not in step for scenario in chosen for step in scenario.steps)
            equal = answers - sum(len(differing_steps(scenario)) for scenario in chosen)
            rows.append(_row(f"Kafka {kafka}", protocol, str(len(chosen)), f"{answers:,}", f"{equal:,}"))
    return ANSWERS_HEAD + "\n".join(rows) + "\n"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _code(names: Iterable[str]) -> str:
    return "<br>".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
    print(f"{PAGE}: written")
