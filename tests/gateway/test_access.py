"""Rules of access: what they mean together, whatever their order, and what is not a rule."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollcall.programs.errors import ConfigError
from rollcall.schemas.messages import Operation
from rollcall.serve.gateway.access import ALL_OPERATIONS, Access, Rule, read_rules

PRINCIPALS = ["User:a", "User:b"]
GROUPS = ["", "*", "x", "xy", "y"]
rules = st.lists(
    st.builds(
        Rule,
        is_allowed=st.booleans(),
        principal=st.sampled_from([*PRINCIPALS, "User:*"]),
        is_prefix=st.booleans(),
        pattern=st.sampled_from([*GROUPS, "*"]),
        operations=st.sets(st.sampled_from(Operation), min_size=1).map(frozenset),
    ),
    max_size=6,
)
asked = st.tuples(st.sampled_from(PRINCIPALS), st.sampled_from(Operation), st.sampled_from(GROUPS))


@given(rules, asked, st.randoms(use_true_random=False))
def test_the_order_of_rules_does_not_matter(
    some: list[Rule], question: tuple[str, Operation, str], random: object
) -> None:
    shuffled = sorted(some, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert Access(some).allows(*question) == Access(shuffled).allows(*question)


@given(rules, asked)
def test_one_more_allowance_takes_nothing_and_one_more_denial_gives_nothing(
    some: list[Rule], question: tuple[str, Operation, str]
) -> None:
    allow, deny = (Rule(is_allowed, "User:*", False, "*", ALL_OPERATIONS) for is_allowed in (True, False))
    assert not Access(some).allows(*question) or Access([*some, allow]).allows(*question)
    assert not Access([*some, deny]).allows(*question)
    assert not Access([]).allows(*question)
    assert Access(None).allows(*question)


@given(rules, asked)
def test_the_bit_field_names_what_is_allowed(some: list[Rule], question: tuple[str, Operation, str]) -> None:
    principal, operation, group = question
    bits_of = {Operation.DESCRIBE_CONFIGS: 10, Operation.ALTER_CONFIGS: 11}
    bit = ({Operation.READ: 3, Operation.DELETE: 6, Operation.DESCRIBE: 8} | bits_of)[operation]
    bits = Access(some).operations(principal, group) or 0
    assert bool(bits >> bit & 1) == Access(some).allows(*question)


@given(rules, asked)
def test_who_may_read_or_delete_may_describe_unless_that_is_denied(
    some: list[Rule], question: tuple[str, Operation, str]
) -> None:
    principal, operation, group = question
    allowances = Access([rule for rule in some if rule.is_allowed])
    if operation in (Operation.READ, Operation.DELETE) and allowances.allows(principal, operation, group):
        assert allowances.allows(principal, Operation.DESCRIBE, group)


def rules_of(folder: Path, text: str) -> Access:
    (folder / "rules").write_text(text)
    return read_rules(folder / "rules")


def test_names_with_blanks_stand_between_quotes(tmp_path: Path) -> None:
    known = rules_of(
        tmp_path,
        'allow "User:CN=Alice Liddell,O=Rabbit Hole" literal "tea party" ALL\n'
        "allow 'User:say \"hi\"' prefix team- READ\n"
        "allow User:CN=a\\,b literal it's ALL\n",
    )
    assert known.allows("User:CN=Alice Liddell,O=Rabbit Hole", Operation.READ, "tea party")
    assert known.allows('User:say "hi"', Operation.READ, "team-x")
    assert known.allows("User:CN=a\\,b", Operation.READ, "it's")
    assert not known.allows("User:CN=Alice", Operation.READ, "tea party")


def test_a_prefix_is_one_and_a_literal_is_not(tmp_path: Path) -> None:
    found = rules_of(tmp_path, "allow User:a prefix team- READ\nallow User:a literal shop READ\n")
    groups = ("team-", "team-1", "tea", "shop", "shop1")
    allowed = [group for group in groups if found.allows("User:a", Operation.READ, group)]
    assert allowed == ["team-", "team-1", "shop"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("allow User:a literal g", "line 2: 'allow User:a literal g' is not of the form"),
        ("permit User:a literal g READ", "'permit' is neither allow nor deny"),
        ("allow a literal g READ", "principal 'a' is not of the form User:name"),
        ("allow User:a regex g READ", "'regex' is neither literal nor prefix"),
        ('allow "User:a literal x ALL', "is not of the form allow"),
        ('allow "User:a"b literal x ALL', "is not of the form allow"),
        ("allow '' literal x ALL", "is not of the form allow"),
        ("allow User:a literal g READ,WRITE", "'READ,WRITE' is not ALL or a list of READ, DESCRIBE, DELETE"),
    ],
)
def test_what_is_no_rule_is_refused_by_its_line(line: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=why):
        rules_of(tmp_path, f"# rules\n{line}\n")
