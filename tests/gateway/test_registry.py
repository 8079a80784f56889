"""The gateways of a home know each other by their numbers' files, and follow nothing else that lies there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.registry import GATEWAYS_FOLDER, Registry
from listeners.addresses import Address

HERE, THERE = Address("127.0.0.1", 9092), Address("127.0.0.1", 9192)


def test_gateways_have_numbers_of_their_own_and_see_each_other(tmp_path: Path) -> None:
    first, second = Registry(tmp_path), Registry(tmp_path)
    first.join(HERE)
    second.join(THERE)
    assert (first.number, first.others(), second.others()) == (0, [(1, THERE)], [(0, HERE)])
    first.leave()
    again = Registry(tmp_path)
    again.join(HERE)
    assert again.number == 0
    again.leave()
    second.leave()


@pytest.mark.parametrize("what", ["link", "link to nothing", "fifo", "folder"])
def test_what_is_no_gateways_file_is_neither_followed_nor_waited_for(what: str, tmp_path: Path) -> None:
    folder, precious = tmp_path / GATEWAYS_FOLDER, tmp_path / "precious"
    folder.mkdir()
    precious.write_text("127.0.0.1:1\n")
    match what:
        case "link":
            (folder / "0").symlink_to(precious)
        case "link to nothing":
            (folder / "0").symlink_to(tmp_path / "made")
        case "fifo":
            os.mkfifo(folder / "0")
        case "folder":
            (folder / "0").mkdir()
    gateway = Registry(tmp_path)
    gateway.join(HERE)
    assert (gateway.number, gateway.others()) == (1, [])
    assert precious.read_text() == "127.0.0.1:1\n"
    assert not (tmp_path / "made").exists()
    gateway.leave()


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / GATEWAYS_FOLDER).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=GATEWAYS_FOLDER):
        Registry(tmp_path).join(HERE)
    assert list((tmp_path / "elsewhere").iterdir()) == []
