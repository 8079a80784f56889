"""What would act on a terminal is written out, and everything else stays as it is."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest

from rollcall.programs.errors import UserError
from rollcall.programs.running import run_program
from rollcall.programs.visible import visible, visible_json

TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MARKS = "\u200e\u200f\u061c"
ACTING = [
    chr(point)
    for point in range(sys.maxunicode + 1)
    if unicodedata.category(chr(point)) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(chr(point)) in TURNING
]


def test_every_control_every_separator_of_lines_and_every_mark_of_direction_is_written_out() -> None:
    text = "".join(ACTING) + MARKS
    assert len(ACTING) > 2100
    assert visible(text).isascii()
    assert visible(text).isprintable()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("orders", "orders"),
        ("Aufträge 注文 заказы הזמנות 🦊 [/b] $x$ \\n", "Aufträge 注文 заказы הזמנות 🦊 [/b] $x$ \\n"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x1b[2J\x9b1m\x7f", r"\x1b[2J\x9b1m\x7f"),
        ("pay\u202esrotsni", r"pay\u202esrotsni"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_a_text_is_shown_as_python_would_write_it(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown


def test_json_keeps_its_data() -> None:
    data = {"a\u202e": "-".join(ACTING), "ü": "\U000e0041"}
    text = visible_json(json.dumps(data, ensure_ascii=False))
    assert json.loads(text) == data
    assert text.isprintable()
    assert "ü" in text


def test_a_sentence_to_the_user_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def main() -> None:
        raise UserError("a\nrollcall: all is well\x1b[2A: the home knows no such group")

    assert run_program(main) == 2
    said = capsys.readouterr().err
    assert said == "rollcall: a\\nrollcall: all is well\\x1b[2A: the home knows no such group\n"


def test_an_error_may_have_lines_below_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def main() -> None:
        raise UserError("it failed; its last words were", "  one\x07", "  two")

    run_program(main)
    assert capsys.readouterr().err == "rollcall: it failed; its last words were\n  one\\x07\n  two\n"
