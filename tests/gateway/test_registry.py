"""The gateways of a home know each other by their numbers' files, and follow nothing else that lies there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rollcall.serve.gateway.registry import GATEWAYS_FOLDER, Registry
from rollcall.serve.listeners.addresses import Address

HERE, THERE, ELSEWHERE = (Address("127.0.0.1", port) for port in (9092, 9192, 9292))


def test_gateways_have_numbers_of_their_own_and_see_each_other(tmp_path: Path) -> None:
    first, second = Registry(tmp_path), Registry(tmp_path)
    first.join(HERE)
    second.join(THERE)
    assert (first.number, first.others(), second.others()) == (0, [(1, THERE)], [(0, HERE)])
    first.leave()
    second.leave()


def test_a_gateway_that_is_gone_is_seen_no_more_and_gets_its_number_back(tmp_path: Path) -> None:
    one, other, third = (Registry(tmp_path) for _ in range(3))
    one.join(HERE)
    other.join(THERE)
    other.leave()
    assert one.others() == []
    one.leave()
    other = Registry(tmp_path)
    other.join(THERE)
    assert other.number == 1
    third.join(ELSEWHERE)
    assert third.number == 0
    other.leave()
    third.leave()


def test_a_file_that_is_no_number_and_one_without_an_address_disturb_nobody(tmp_path: Path) -> None:
    folder = tmp_path / GATEWAYS_FOLDER
    folder.mkdir()
    (folder / "notes").write_text("hello")
    (folder / "0").write_text("nonsense")
    registry = Registry(tmp_path)
    registry.join(HERE)
    assert (registry.number, registry.others()) == (0, [])
    registry.leave()


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
