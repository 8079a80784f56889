"""How many examples hypothesis looks at where a test says so itself: fewer in `make test` than in `make test-all`.

Must not know what a test makes of them.
"""

from __future__ import annotations

from hypothesis import settings


def examples(few: int, many: int) -> settings:
    """few: where they are the same every time. many: where they are others each time, which `make test-all` has.

    One example takes most of these tests long, and after the first ones another seldom finds what they do not.
    """
    return settings(max_examples=few if settings().derandomize else many)
