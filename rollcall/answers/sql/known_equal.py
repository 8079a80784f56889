"""What of Spark's SQL DuckDB is known to answer as Spark does: functions, clauses, types and forms of literals.

What is not listed here raises NotEqual: it needs Spark. tests/engines/asked has a query of each that is listed, and of
each form that is known to differ. Knows sqlglot's trees. Must not know a home.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError, TokenError

from rollcall.answers.sql import functions
from rollcall.answers.sql.statements import syntax_error, unknown_statement

Node = Any
T = exp.DataType.Type


class NotEqual(Exception):
    """DuckDB is not known to answer the query as Spark does; the text names what it is."""


class NotParsed(NotEqual):
    """The query is not understood as SQL; the text is the sentence for the user."""


class NotSelect(NotEqual):
    """The query is another statement."""


class NoSuchName(Exception):
    """The query names a table, view or column that is not there; the text is the sentence for the person."""


# ---------------------------------------------------------------- what is known to be equal


def words_of(text: str) -> set[str]:
    return set(text.split())


_BY_SQLGLOT = words_of(
    """
    abs array array_agg avg mean bool_and bool_or coalesce collect_list collect_set concat count count_if
    current_date current_timestamp date endswith explode filter first_value flatten greatest if ifnull instr least left
    lag last_value lead locate lpad max max_by min min_by median now nullif nvl nvl2 posexplode replace right round
    row_number rpad startswith sum transform array_join array_distinct substring substr
    """
)
"""Functions that sqlglot translates, or for which a rule stands below."""
_ALIKE = words_of(
    """
    concat_ws cume_dist day dayofyear dense_rank hour minute month ntile percent_rank quarter rank second weekofyear
    year make_date translate nth_value date_format timestampdiff percentile
    """
)
"""Functions that are called alike and give the same."""
_FUNCTIONS_OF_VIEWS = words_of("struct named_struct from_json inline sequence any_value")
_OTHER_NAMES = """
    lcase=lower ucase=upper char_length=length character_length=length cardinality=size array_size=size ceiling=ceil
    date_diff=datediff to_unix_timestamp=unix_timestamp regexp_like=rlike
"""
OTHER_NAMES = dict(pair.split("=") for pair in _OTHER_NAMES.split())
FUNCTIONS = _BY_SQLGLOT | _ALIKE | functions.NAMES | set(OTHER_NAMES)
"""Every function that may be called, by the name that is typed."""
NODES = words_of(
    """
    Select From Where Group Having Order Ordered Limit Offset Join Table TableAlias Subquery CTE With Union
    Except Intersect Column Identifier Star Alias Literal Boolean Null And Or Not Is EQ NEQ GT GTE LT LTE
    NullSafeEQ In Between Like ILike RegexpLike Case If Cast TryCast Bracket Window WindowSpec Filter Distinct
    Add Sub Mul Div IntDiv Mod Neg Paren Interval Var Lateral Exists Lambda DataType Extract Anonymous DPipe
    Aliases CurrentDate CurrentTimestamp Abs Array ArrayAgg ArrayUniqueAgg ArrayDistinct ArrayToString
    ArrayFilter Transform Avg LogicalAnd LogicalOr Coalesce Concat Count CountIf Explode Posexplode Flatten
    Greatest Least Left Right FirstValue LastValue Lag Lead StrPosition Pad Max ArgMax Min ArgMin Median Nullif Nvl2
    Replace Round RowNumber StartsWith EndsWith Sum Substring
    """
)
"""Every kind of node that a query's tree may have."""
_TYPES = {T.INT, T.BIGINT, T.SMALLINT, T.DOUBLE, T.TEXT, T.VARCHAR, T.DATE, T.TIMESTAMP, T.TIMESTAMPTZ, T.TIMESTAMPLTZ}
_UNITS = {"SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"}
_TRUNCATED = {"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MM", "MON"}
_TIME_PARTS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "SSS": "%g"}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?(Z|\+00:00)?)?)?")
_CLASS = r"\[\^?(?:[A-Za-z0-9 _:;,.@%#=~!/]|[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9])+-?\]"
_ATOM = rf"(?:[A-Za-z0-9 _:;,@%#=~!<>&'\"/.-]|{_CLASS})(?:[*+?]|\{{\d{{1,2}}(?:,\d{{0,2}})?\}})?"
_PATTERN = re.compile(rf"(?:{_ATOM}|[|^$]|\((?:{_ATOM}|[|^$])*\))*")
_JSON_PATH = re.compile(r"\$(\.\w+|\[\d+\])*")
_RANKED = words_of("rank dense_rank ntile percent_rank cume_dist nth_value")
_PLACED = exp.RowNumber | exp.FirstValue | exp.LastValue | exp.Lag | exp.Lead
_ORDERLESS = words_of("sort_array array_sort size cardinality array_size array_contains array_min array_max")


_OTHERS = {"MEAN": exp.Avg.from_arg_list, "NOW": exp.CurrentTimestamp.from_arg_list}
"""Functions that sqlglot does not know as Spark's."""


class Dialect(Spark):
    """Spark's dialect; a function that is not left to sqlglot keeps the name that it was typed with."""

    class Tokenizer(Spark.Tokenizer):
        # Two quotes within a text are one, as in Spark from 4.0 on.
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']

    class Parser(Spark.Parser):  # type: ignore[misc, valid-type]
        FUNCTIONS: ClassVar[dict[str, Any]] = {
            name: made
            for name, made in (Spark.Parser.FUNCTIONS | _OTHERS).items()
            if name.lower() in _BY_SQLGLOT | _FUNCTIONS_OF_VIEWS
        }
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: made for name, made in Spark.Parser.FUNCTION_PARSERS.items() if name in ("CAST", "EXTRACT", "STRUCT")
        }


class TypedDialect(Spark):
    """Spark's dialect; every function keeps the name that it was typed with."""

    class Tokenizer(Dialect.Tokenizer):
        pass

    class Parser(Dialect.Parser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}


# What it does not understand is refused in one sentence.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


def parsed(query: str, dialect: type[Spark] = Dialect) -> Node:
    """Return the one statement of a query as a tree. Raises NotParsed, NotEqual."""
    if unknown := unknown_statement(query):
        raise NotParsed(unknown)
    try:
        trees = [tree for tree in dialect().parse(query) if tree is not None]
    except ParseError as error:
        found = error.errors[0]
        word = found["highlight"]
        raise NotParsed(syntax_error(found["line"], found["col"] - len(word) + 1, word)) from None
    except TokenError:
        raise NotParsed("syntax error: a quote or a comment does not end.") from None
    except SqlglotError as error:
        raise NotEqual(f"unknown syntax: {error}") from None
    except RecursionError:
        raise NotEqual("deep nesting") from None
    if len(trees) != 1:
        raise NotEqual("more than one statement, or none")
    return trees[0]


# ---------------------------------------------------------------- checks


_PLACES = {"split_part": 1, "element_at": 1, "nth_value": 1}
"""Functions that count places: the least that their numbers, which are to be written out, may be."""
_OF_TWO = words_of(
    """
    percentile get_json_object date_format regexp_extract rlike split date_trunc trunc mod datediff timestampdiff
    """
)
_LEAST = {"regexp_replace": 3, "concat_ws": 1} | dict.fromkeys(_OF_TWO, 2)
"""How many arguments a function has at least."""
_COMPARED = exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE | exp.Between | exp.In


def check(tree: Node, columns: Mapping[str, Collection[str]]) -> None:
    """columns: those of each table and view. Raises NotEqual, NoSuchName."""
    _check_tables(tree, columns)
    for node in tree.walk():
        _check(node)
    for select in tree.find_all(exp.Select):
        _check_names(select, tree, columns)


def unit_of(interval: Node) -> str:
    return str(interval.args["unit"]).upper().removesuffix("S") if interval.args.get("unit") else ""


def time_format(pattern: str) -> str:
    """Java's pattern of a date or time as strftime's. Raises NotEqual."""
    parts = re.findall(r"([A-Za-z])(\1*)|([^A-Za-z'%])|(.)", pattern)
    if any(bad or (letter and letter + more not in _TIME_PARTS) for letter, more, _, bad in parts):
        raise NotEqual(f"the format '{pattern}'")
    return "".join(_TIME_PARTS[letter + more] if letter else other for letter, more, other, _ in parts)


def outermost(aggregate: Node) -> Node:
    """An aggregate with its FILTER and OVER."""
    top = aggregate
    while isinstance(top.parent, exp.Filter | exp.Window) and top.parent.this is top:
        top = top.parent
    return top


def _check(node: Node) -> None:
    """Raises NotEqual: the node is not one of what is known to be answered alike."""
    name = type(node).__name__
    if name not in NODES:
        raise NotEqual(name if not isinstance(node, exp.Func) else f"{node.sql_name().lower()}()")
    match node:
        case exp.Anonymous():
            _check_call(node, node.name.lower(), node.expressions)
        case exp.Literal():
            _check_literal(node)
        case exp.Cast() if node.to.this not in _TYPES or node.args.get("format"):
            raise NotEqual(f"a cast to {node.to.sql('spark')}")
        case exp.Interval() if not (
            isinstance(node.this, exp.Literal)
            and node.this.name.isdecimal()
            and unit_of(node) in _UNITS
            and isinstance(node.parent, exp.Add | exp.Sub | exp.WindowSpec | _COMPARED)
        ):
            raise NotEqual("this interval")
        case exp.Extract() if node.this.name.upper() not in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE"):
            raise NotEqual(f"extract({node.this.name})")
        case exp.Lateral() if (
            node.args.get("outer")
            or not node.alias_column_names
            or not isinstance(node.this, exp.Explode | exp.Posexplode)
        ):
            raise NotEqual("this LATERAL")
        case exp.ArrayAgg() | exp.ArrayUniqueAgg() if not _is_in_order(node):
            raise NotEqual("an array without a defined order (sort_array() gives it one)")
        case exp.RegexpLike():
            _check_pattern(node.expression)
        case exp.Window():
            _check_window(node)
        case _:
            _check_form(node)


def _check_form(node: Node) -> None:
    """Raises NotEqual: a clause or a call in a form that is not known to be answered alike."""
    match node:
        case exp.Group() if any(node.args.get(key) for key in ("rollup", "cube", "grouping_sets", "totals")):
            raise NotEqual("this GROUP BY")
        case exp.Select():
            _check_select(node)
        case exp.Substring() | exp.Left() | exp.Right() | exp.Pad():
            _check_places(node, 1 if isinstance(node, exp.Substring) else 0)
        case exp.Lambda() if len(node.expressions) != 1:
            raise NotEqual("a lambda with several parameters")
        case exp.StrPosition() if not isinstance(node.args.get("position"), exp.Literal | None):
            raise NotEqual("a position that is not a literal")
        case exp.StrPosition():
            _check_places(node, 1)
        case exp.Round() if not isinstance(node.args.get("decimals"), exp.Literal | None):
            raise NotEqual("round() with a number of digits that is not a literal")
        case exp.Star() if node.args.get("replace") or node.args.get("rename"):
            raise NotEqual("* REPLACE")


def _is_in_order(node: Node) -> bool:
    around = outermost(node).parent
    return isinstance(around, exp.Anonymous) and around.name.lower() in _ORDERLESS


def _check_window(window: Node) -> None:
    function = window.this
    is_ranked = isinstance(function, exp.Anonymous) and function.name.lower() in _RANKED
    if (is_ranked or isinstance(function, _PLACED)) and not _is_ordered(window):
        raise NotEqual("a window without ORDER BY")
    if isinstance(function.this, exp.Distinct):
        raise NotEqual("DISTINCT over a window")
    if not isinstance(function.args.get("offset"), exp.Literal | exp.Neg | None):
        raise NotEqual("a position that is not a literal")


def _is_ordered(window: Node) -> bool:
    """Whether a window, or the one of a WINDOW clause that it names, has an order."""
    named = [one for one in window.root().find_all(exp.Window) if isinstance(one.this, exp.Identifier)]
    return any(one.args.get("order") for one in (window, *named) if one is window or one.name == window.alias)


def _check_select(select: Node) -> None:
    joins = select.args.get("joins") or ()
    using = {name.name.lower() for join in joins for name in join.args.get("using") or ()}
    # Every view and table of a home begins with it; where another one stands, engines differ.
    of_tables = not joins or all(isinstance(one.this, exp.Table) for one in (select.args["from_"], *joins))
    if using and not (using <= {"group_id"} and of_tables) and any(one.is_star for one in select.expressions):
        raise NotEqual("* of a join with USING")
    if select.args.get("group") and any(one.find(exp.Explode, exp.Posexplode) for one in select.expressions):
        raise NotEqual("explode() with GROUP BY")
    order = select.args.get("order")
    if select.args.get("distinct") and order is not None:
        given = {one.alias_or_name.lower() for one in select.expressions}
        if not {column.name.lower() for column in order.find_all(exp.Column)} <= given and "*" not in given:
            raise NotEqual("DISTINCT with ORDER BY of another column")


def _check_call(node: Node, name: str, of: Sequence[Node]) -> None:
    known = OTHER_NAMES.get(name, name)
    if name not in FUNCTIONS or len(of) < _LEAST.get(known, 0):
        raise NotEqual(f"{name}()")
    if name == "date_format" and not isinstance(of[1], exp.Literal):
        raise NotEqual("date_format() with a format that is not a literal")
    if name in _PLACES:
        _check_places(node, _PLACES[name])
    if known in ("rlike", "regexp_extract", "regexp_replace", "split"):
        _check_pattern(of[1])
    if name == "regexp_replace" and not (isinstance(of[2], exp.Literal) and "$" not in of[2].name):
        raise NotEqual("regexp_replace() with a replacement that is not a plain literal")
    if name == "regexp_extract" and not _is_number(of[2] if len(of) > 2 else _ONE, 0, of[1].name.count("(")):
        raise NotEqual("a group that is not in the pattern")
    if name == "percentile" and not _is_number(of[1], 0, 1):
        raise NotEqual("percentile() with other than a literal from 0 to 1")
    if name == "get_json_object" and not (isinstance(of[1], exp.Literal) and _JSON_PATH.fullmatch(of[1].name)):
        raise NotEqual(f"the path {of[1].sql()}")
    if name in ("date_trunc", "trunc"):
        unit = of[0 if name == "date_trunc" else 1]
        if not isinstance(unit, exp.Literal) or unit.name.upper() not in _TRUNCATED:
            raise NotEqual(f"{name}() to {unit.sql()}")


_ONE = exp.Literal.number(1)


def _is_number(node: Node, least: int, most: int) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and least <= float(node.name) <= most


def _check_places(node: Node, least: int) -> None:
    for each in node.iter_expressions():
        is_number = isinstance(each, exp.Literal) and not each.is_string
        if isinstance(each, exp.Neg) or (is_number and not (each.name.isdecimal() and int(each.name) >= least)):
            raise NotEqual("a position counted from the end, or before the first")


def _check_pattern(pattern: Node) -> None:
    if not isinstance(pattern, exp.Literal) or not pattern.name or not _PATTERN.fullmatch(pattern.name):
        raise NotEqual(f"the pattern {pattern.sql()}")


def _check_literal(node: Node) -> None:
    if node.is_string:
        text = node.name
        if re.match(r"\d{4}-\d", text) and not _MOMENT.fullmatch(text):
            raise NotEqual(f"the timestamp '{text}'")
        if re.fullmatch(r" *[+-]?(\d*\.\d+|\d+\.|\d+(?=[eE]))([eE].*)? *", text):
            raise NotEqual(f"the number '{text}' as a text")
    elif not node.name.isdecimal():
        parent = node.parent.parent if isinstance(node.parent, exp.Neg) else node.parent
        is_percentile = isinstance(parent, exp.Anonymous) and parent.name.lower() == "percentile"
        if not isinstance(parent, _COMPARED) and not is_percentile:
            raise NotEqual(f"the decimal number {node.name}")
    elif int(node.name) >= 2**63:
        raise NotEqual(f"the number {node.name}")


def _check_tables(tree: Node, columns: Mapping[str, Collection[str]]) -> None:
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or table.args.get("db"):
            raise NotEqual("this form of a table")
        if table.name.lower() not in own | set(columns):
            names = ", ".join(sorted(columns))
            raise NoSuchName(f"The table or view `{table.name}` cannot be found; there are {names}{place(table.this)}.")


def place(identifier: Node) -> str:
    """Where a name stands in the query, as Spark says it."""
    meta = identifier.meta
    if "line" not in meta:
        return ""
    return f" (line {meta['line']}, position {meta['col'] - len(identifier.name) + 1})"


def no_such_column(query: str, name: str, columns: Mapping[str, Collection[str]]) -> NoSuchName:
    """Says which columns there are in the query's tables, and where it names this one. columns: by table."""
    tree = parsed(query)
    read = sorted({table.name.lower() for table in tree.find_all(exp.Table)} & set(columns))
    there = ", ".join(dict.fromkeys(column for table in read for column in columns[table]))
    shown, at = f"`{name}`", ""
    if found := next((one for one in tree.find_all(exp.Column) if one.name.lower() == name.lower()), None):
        shown, at = f"`{'.'.join(part.name for part in found.parts)}`", place(found.parts[0])
    return NoSuchName(f"The column {shown} cannot be found; there are {there}{at}.")


def _check_names(select: Node, tree: Node, columns: Mapping[str, Collection[str]]) -> None:
    """Raises NotEqual: a name is both a column's and that of another expression; which one is meant, engines differ."""
    given = {
        one.alias.lower()
        for one in select.expressions
        if isinstance(one, exp.Alias) and not (isinstance(one.this, exp.Column) and one.this.name == one.alias)
    }
    read = {name for table in tree.find_all(exp.Table) for name in columns.get(table.name.lower(), ())}
    read |= {
        one.alias.lower() for other in tree.find_all(exp.Select) if other is not select for one in other.expressions
    }
    parts = [*select.expressions, *(select.args.get(name) for name in ("group", "having", "order"))]
    used = {column.name.lower() for part in parts if part for column in part.find_all(exp.Column) if not column.table}
    if clash := given & read & used:
        raise NotEqual(f"the name {min(clash)} of a column and of another expression")
