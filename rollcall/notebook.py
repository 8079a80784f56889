"""What a notebook asks: `rollcall.open` and `rollcall.explain`.

    import rollcall

    rollcall.explain("server.log")                       what brokers and clients printed, without a home
    home = rollcall.open(".rollcall")
    home.sql("select * from groups")                     a pandas frame; form="arrow": an Arrow table
    home.rebalances("payments", since="-1h")
    home.why("payments", generation_id=7)

Knows the questions and the types of their answers. Must not know how one is found: the commands' modules do, and are
imported when they are asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from rollcall.programs.errors import UserError
from rollcall.programs.extras import MissingExtra, naming_extra
from rollcall.programs.timestamps import utc_text

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from rollcall.answers.why.sections import Line
    from rollcall.tables.home import Home

__all__ = ["UserError", "explain", "open"]

Form = Literal["pandas", "arrow"]
Engine = Literal["", "spark"]


@dataclass(frozen=True, repr=False)
class Explained:
    """What log files say of groups. Printed, or as a cell's result, it is what `rollcall explain` prints."""

    text: str
    answer: dict[str, Any]
    """The same for programs, as of `rollcall explain --format json`: files, groups, unknown."""

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class Why:
    """One rebalance explained. Printed, or as a cell's result, it is what `rollcall why` prints."""

    text: str
    lines: list[Line]
    """The same for programs: what each line is about, its moment, member and partition. `pd.DataFrame` takes them."""

    def __repr__(self) -> str:
        return self.text


class OpenHome:
    """A home that is asked. Times are UTC; every question reads what the home holds by then."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def __repr__(self) -> str:
        return f"rollcall.open({self._home.shown!r})"

    @overload
    def sql(
        self, query: str, *, at: str = "", form: Literal["pandas"] = "pandas", engine: Engine = ""
    ) -> pd.DataFrame: ...
    @overload
    def sql(self, query: str, *, at: str = "", form: Literal["arrow"], engine: Engine = "") -> pa.Table: ...
    @naming_extra("sql")
    def sql(self, query: str, *, at: str = "", form: Form = "pandas", engine: Engine = "") -> pd.DataFrame | pa.Table:
        """Return DuckDB's answer to a query in Spark's SQL. engine="spark" asks Spark, which takes some 20 s to start.

        at: the moment whose state is shown, as "2026-03-01 03:12" or "-1h". Raises UserError.
        """
        from rollcall.cli.sql import frame_of, table_of

        if form == "pandas" and find_spec(form) is None:
            raise MissingExtra('a frame needs pandas, which is not installed: pip install pandas, or form="arrow"')
        return (table_of if form == "arrow" else frame_of)(self._home, query, at, engine)

    @overload
    def rebalances(
        self, group_id: str = "", since: str = "", *, form: Literal["pandas"] = "pandas"
    ) -> pd.DataFrame: ...
    @overload
    def rebalances(self, group_id: str = "", since: str = "", *, form: Literal["arrow"]) -> pa.Table: ...
    @naming_extra("rebalances")
    def rebalances(self, group_id: str = "", since: str = "", *, form: Form = "pandas") -> pd.DataFrame | pa.Table:
        """Return the rows of the view `rebalances`, the earliest first. group_id: empty for all groups.

        since: leave out what ended before this moment; a rebalance whose end is not known counts by its beginning.
        Raises UserError.
        """
        from rollcall.answers.moments import Moments

        asked = ["true"]
        if group_id:
            asked.append(f"group_id = {_literal(group_id)}")
        if since:
            shown = utc_text(Moments(self._home).read(since).from_ms)
            asked.append(f"(outcome is null or coalesce(ended_at, known_from) >= {_literal(shown)})")
        query = (
            f"select * from rebalances where {' and '.join(asked)} order by known_from, group_id, from_generation_id"
        )
        return self.sql(query, form=form)

    @naming_extra("why")
    def why(self, group_id: str, generation_id: int | None = None, *, at: str = "") -> Why:
        """Explain the rebalance that led to a generation, or the one at a moment, or the latest one.

        Raises UserError: there is no such group or rebalance, or `at` is no moment.
        """
        from rollcall.answers.why.sections import lines_of
        from rollcall.cli.why import explanation_of
        from rollcall.programs.terminal import Terminal
        from rollcall.shown.why_page import show_page

        found = explanation_of(self._home, group_id, generation_id, at or None)
        page = StringIO()
        # In a notebook rich would display it instead.
        console = Terminal(file=page, force_jupyter=False, force_terminal=False, highlight=False, soft_wrap=True)
        show_page(found, console)
        return Why(page.getvalue().rstrip(), lines_of(found))

    @naming_extra("register_views")
    def register_views(self, spark: SparkSession, names: Iterable[str] = (), *, at: str = "") -> None:
        """Make the home's tables and views known to a Spark session, for as many queries as one likes.

        names: only these, and what they stand on. at: as they were at a moment. Raises UserError.
        """
        from rollcall.cli.sql import register_views

        register_views(spark, self._home, [*names], at or None)


def open(home: str | Path = ".rollcall") -> OpenHome:
    """Open a home: a folder, or a prefix in an object store. It is read when it is asked."""
    from rollcall.tables.home import Home

    return OpenHome(Home(home))


@naming_extra("explain")
def explain(
    files: str | Path | Iterable[str | Path],
    *,
    group_id: str = "",
    since: str = "",
    until: str = "",
    zone: str = "",
    evidence: bool = False,
) -> Explained:
    """Explain rebalances from what brokers and clients print: a file, a folder, or several.

    group_id: only this group. since, until: moments, counted from the latest line where they have no date. zone: of
    times that are printed without one, as "Asia/Kolkata". evidence: show the lines behind each statement. Raises
    UserError.
    """
    from rollcall.cli.explain import Asked, explained
    from rollcall.inputs.request_log.lines.clock import zone_of

    paths = [files] if isinstance(files, str | Path) else files
    asked = Asked(group_id, since, until, evidence, zone=zone_of(zone) if zone else None)
    return Explained(*explained([str(path) for path in paths], asked))


def _literal(text: str) -> str:
    """The text as a literal of Spark's SQL; DuckDB answers only without a backslash."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
