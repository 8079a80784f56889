"""What somebody may ask the page for who wants it to fail: fields that nobody would write, queries that cost too much.

Knows the page's addresses and their fields; must not know what is answered.
"""

from __future__ import annotations

PAGES = {
    "/": ("at", "from", "to", "state", "kind"),
    "/group": ("at", "minutes", "topic", "partition", "group"),
    "/rebalance": ("at", "generation", "started", "group"),
    "/troubles": ("at", "from", "to", "kind"),
    "/sql": ("q", "at"),
    "/answer.csv": ("q",),
    "/answer.json": ("q",),
    "/strip.svg": ("at", "width"),
    "/rebalance.svg": ("generation", "started", "from"),
    "/rebalance-lag.svg": ("generation", "started", "width"),
    "/pictures/timeline.svg": ("at", "minutes", "group", "width"),
    "/pictures/ownership.svg": ("at",),
    "/pictures/slack.svg": ("minutes",),
}
"""Every page, and its fields."""
GROUP = "two"
NUMBERS = ("999999999999999", "-999999999999999", "253402300800000", "1", "-1", "0", "²", "٣٤٥٦٧", "1e5", "nan", "--5")
MOMENTS = (*NUMBERS, "0001-01-01 00:00 +14:00", "9999-12-31 23:59:59.999", "9999-12-31 23:59 -12:00", "2026-02-30")
TEXTS = ("", "\x00", "a\nb", "%ff", "x" * 9_000, "[" * 3_000, "../../etc/passwd", "\ud7ff\U0010ffff")
FIELDS = {
    "at": MOMENTS,
    "from": MOMENTS,
    "to": MOMENTS,
    "minutes": (*NUMBERS, "1e-300", "1440"),
    "width": NUMBERS,
    "generation": NUMBERS,
    "started": MOMENTS,
    "partition": NUMBERS,
    "topic": TEXTS,
    "group": TEXTS,
    "q": (
        *TEXTS,
        "select",
        f"select {'(' * 3_000}1{')' * 3_000} as a",
        f"select {'-' * 5_000}1",
        "select $.a.b['x' from y",
    ),
    "state": TEXTS,
    "kind": TEXTS,
}

MANY = "from effects a cross join effects b"
SUBSTRINGS = "1"
while len(SUBSTRINGS) < 390:
    SUBSTRINGS = f"substring_index({SUBSTRINGS},'a',1)"
TOO_COSTLY = {
    "columns": f"select {','.join(['1'] * 4000)} {MANY}",
    "a text of a gigabyte": "select lpad('x', 1000000000, 'y') as a",
    "a translation that doubles with each call": f"select {SUBSTRINGS} as a",
    "rows without end": "select count(*) as n from effects a cross join effects b cross join effects c "
    "cross join effects d",
}
