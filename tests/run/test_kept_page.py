"""A page that ends is started again, later each time, and nothing else ends by it."""

from __future__ import annotations

from dataclasses import dataclass

from rollcall.cli.run.servers import FIRST_WAIT_S, LONGEST_WAIT_S, STEADY_S, KeptPage


@dataclass
class Page:
    address: str | None = None
    status: int | None = None

    def last_words(self) -> str:
        return "rollcall: MemoryError"

    def end(self, patience_s: float) -> None:
        self.status = -15


class Run:
    """A kept page in virtual time."""

    def __init__(self) -> None:
        self.now, self.said = 0.0, list[str]()
        self.pages = [Page("http://a/")]
        self.kept = KeptPage(self.pages[0], self.start, self.said.append, lambda: self.now)

    def start(self) -> Page:
        self.pages.append(Page())
        return self.pages[-1]

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        self.kept.look()


def test_a_page_that_ends_is_there_again_and_both_are_said() -> None:
    run = Run()
    run.pages[0].status = -9
    run.pass_by(1)
    assert len(run.pages) == 1
    run.pass_by(FIRST_WAIT_S)
    run.pass_by(0.1)
    assert len(run.pages) == 2
    run.pages[1].address = "http://b/"
    run.pass_by(1)
    run.pass_by(1)
    assert run.said == [
        "The page has ended (MemoryError); it starts again in 1 s. The rest keeps running.",
        "The page is at http://b/ again.",
    ]
    run.kept.end(1)
    assert run.pages[1].status == -15


def test_a_page_that_ends_again_and_again_waits_longer_each_time_until_one_lasts() -> None:
    run, waits = Run(), []
    for _ in range(9):
        run.pages[-1].status = 1
        run.pass_by(0)
        began, starts = run.now, len(run.pages)
        while len(run.pages) == starts:
            run.pass_by(0.5)
        waits.append(run.now - began)
    assert waits == [1, 2, 4, 8, 16, 32, *[LONGEST_WAIT_S] * 3]
    run.pages[-1].address = "http://c/"
    run.pass_by(0)
    run.pages[-1].status = 1
    run.pass_by(STEADY_S)
    assert run.said[-1].startswith("The page has ended (MemoryError); it starts again in 1 s.")
