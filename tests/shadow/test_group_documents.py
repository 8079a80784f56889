"""Documents of groups in a file that grows: what a state has is found again, whatever was written after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.inputs.following.group_documents import GroupDocuments, Stored
from rollcall.tables.home import HomeError

LONG = '{"topic":"' + "x" * 100_000 + '"}'


def test_a_state_has_the_documents_of_its_time(tmp_path: Path) -> None:
    groups = GroupDocuments(tmp_path, Stored())
    groups.put("a", '{"v":1}')
    groups.put("b\u2028", '{"v":"ü\\n"}')
    first = groups.store()
    groups.put("a", None)
    groups.put("c", '{"v":3}')
    second = groups.store()
    then, now = GroupDocuments(tmp_path, first), GroupDocuments(tmp_path, second)
    assert [then.get(one) for one in ("a", "b\u2028", "c")] == ['{"v":1}', '{"v":"ü\\n"}', None]
    assert [now.get(one) for one in ("a", "b\u2028", "c")] == [None, '{"v":"ü\\n"}', '{"v":3}']
    # The second state was never committed: what comes instead is written over it.
    then.put("c", '{"v":4}')
    assert GroupDocuments(tmp_path, then.store()).get("c") == '{"v":4}'


def test_only_what_has_changed_is_written_until_most_of_the_file_is_old(tmp_path: Path) -> None:
    groups = GroupDocuments(tmp_path, Stored())
    groups.put("long", LONG)
    stored = groups.store()
    assert groups.store() == stored
    sizes = [stored.size]
    for n in range(12):
        groups.put("short", f'{{"v":{n}}}')
        sizes.append(groups.store().size)
    assert sizes[-1] < sizes[0] + 1_000
    while (stored := groups.store()).file == 0:
        groups.put("long", LONG)
    assert stored.size < sizes[0] + 1_000
    assert len(list(tmp_path.iterdir())) == 2
    groups.settle()
    assert len(list(tmp_path.iterdir())) == 1
    again = GroupDocuments(tmp_path, stored)
    assert (again.get("long"), again.get("short")) == (LONG, '{"v":11}')


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "is cut short"), (b"[1,2]", "cannot be read"), (b"\xff[]\n\n", "cannot be read"), (None, "cannot be read")],
)
def test_a_file_that_cannot_be_read_is_named(content: bytes | None, why: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "000000000000.groups").write_bytes(content)
    with pytest.raises(HomeError, match=f"000000000000.groups {why}"):
        GroupDocuments(tmp_path, Stored(0, 5))
