"""Spark's functions that DuckDB has otherwise, or not at all, as macros of DuckDB's: spark_weekday is Spark's weekday.

Where a value, or its type, decides whether the answer is Spark's, `error` refuses the query: it needs Spark.
Those named own_ are the translation's. Knows DuckDB's functions; must not know a query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_MACROS = """--sql
-- arithmetic
own_quotient(a, b) AS own_double(a) / CASE WHEN b = 0 THEN error('division by zero') ELSE own_double(b) END;
own_minus(a, b) AS
  CASE WHEN typeof(a) = 'DATE' AND typeof(b) IN ('DATE', 'INTERVAL')
  THEN error('a date minus a date or an interval')
  ELSE a - b END;
own_plus(a, b) AS
  CASE WHEN typeof(a) = 'DATE' AND typeof(b) = 'INTERVAL' THEN error('a date plus an interval') ELSE a + b END;
own_whole(x) AS x | 0;
own_bigint(x) AS CAST(x AS BIGINT);
own_mean(s, n) AS CAST(s AS DOUBLE) / n;
own_cut(x) AS x - x % 1;
own_digits(x) AS
  CASE WHEN x IS NULL OR regexp_full_match(x, ' *[+-]?[0-9]+ *') THEN x
  ELSE error('a text that is not a whole number') END;
own_double(x) AS
  CASE WHEN typeof(x) IN ('VARCHAR', 'BOOLEAN') THEN error('a number from a ' || typeof(x)) ELSE CAST(x AS DOUBLE) END;
own_string(x) AS
  CASE WHEN typeof(x) IN ('VARCHAR', 'INTEGER', 'BIGINT', 'HUGEINT', 'BOOLEAN', 'DATE', 'TIMESTAMP', '"NULL"',
  'INTEGER_LITERAL', 'STRING_LITERAL')
  THEN CAST(x AS VARCHAR)
  ELSE error('a text from a ' || typeof(x)) END;
own_written(x) AS
  CASE WHEN typeof(x) IN ('DOUBLE', '"NULL"') THEN CAST(x AS VARCHAR)
  ELSE error('round() of a number that is not a DOUBLE') END;
own_timestamp(x) AS
  CASE WHEN typeof(x) IN ('DATE', 'TIMESTAMP', '"NULL"')
  THEN CAST(x AS TIMESTAMP)
  ELSE error('a timestamp from a ' || typeof(x)) END;
own_place(n, least) AS CASE WHEN n < least THEN error('a position before the first') ELSE n END;
own_separator(s) AS CASE WHEN s = '' THEN error('an empty separator') ELSE s END;
own_moment(x) AS
  CASE WHEN typeof(x) = 'VARCHAR' AND NOT regexp_full_match(CAST(x AS VARCHAR),
  '[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?')
  THEN error('a timestamp written in another form')
  ELSE x END;
own_text(x) AS
  CASE WHEN typeof(x) IN ('VARCHAR', 'STRING_LITERAL', '"NULL"') THEN x ELSE error('a text from a ' || typeof(x)) END;
own_time(x) AS CASE WHEN typeof(x) = 'DATE' THEN error('a date instead of a timestamp') ELSE x END;
own_days(n) AS
  CAST(CASE WHEN typeof(n) IN ('DOUBLE', 'BOOLEAN') THEN error('a fraction of a day') ELSE n END AS INTEGER);
own_list(x) AS
  CASE WHEN typeof(x) LIKE '%[]' OR typeof(x) = '"NULL"' THEN x
  ELSE error(typeof(x) || ' instead of an array') END;
own_percentile(l, p) AS own_interpolated(list_sort(list_filter(l, lambda x: x IS NOT NULL)), CAST(p AS DOUBLE));
own_interpolated(l, p) AS
  CASE WHEN len(l) > 0
  THEN own_between((len(l) - 1) * p, l[CAST(floor((len(l) - 1) * p) AS BIGINT) + 1], l[CAST(ceil((len(l) - 1) *
  p) AS BIGINT) + 1]) END;
own_between(place, low, high) AS
  CASE WHEN low = high THEN low ELSE (ceil(place) - place) * low + (place - floor(place)) * high END;
own_collected(l) AS coalesce(list_filter(l, lambda x: x IS NOT NULL), []);
own_flat(l) AS CASE WHEN list_count(l) = len(l) THEN flatten(l) END;
own_only(l) AS CASE WHEN len(l) = 2 AND l[1].k = l[2].k THEN error('a tie in max_by() or min_by()') ELSE l[1].v END;
own_condition(x) AS
  CASE WHEN typeof(x) IN ('BOOLEAN', '"NULL"') THEN x ELSE error('a condition that is a ' || typeof(x)) END;
own_distinct(l) AS list_filter(l, lambda one, place: list_position(l, one) = place);
own_floored(a, b) AS (a // b) - CASE WHEN a < 0 AND a % b <> 0 THEN 1 ELSE 0 END;
own_ascii(s) AS CASE WHEN s IS NULL OR strlen(s) = length(s) THEN s ELSE error('characters outside ASCII') END;
own_printable(s) AS
  CASE WHEN s IS NULL OR regexp_full_match(s, '[ -~]*') THEN s ELSE error('characters outside ASCII') END;
own_item(a, i) AS
  CASE WHEN a IS NULL OR i IS NULL OR (0 <= i AND i < len(a))
  THEN list_extract(a, i + 1)
  ELSE error('an index outside the array') END;
spark_mod(a, b) AS a % b;
spark_pmod(a, b) AS CASE WHEN a % b < 0 THEN (a % b + b) % b ELSE a % b END;
spark_ceil(x) AS CAST(ceil(x) AS BIGINT);
spark_floor(x) AS CAST(floor(x) AS BIGINT);
-- strings
spark_upper(s) AS upper(own_ascii(s));
spark_lower(s) AS lower(own_ascii(s));
spark_trim(s) AS trim(s, ' ');
spark_ltrim(s) AS ltrim(s, ' ');
spark_rtrim(s) AS rtrim(s, ' ');
spark_length(s) AS CAST(length(own_text(s)) AS INTEGER);
spark_split_part(s, separator, n) AS split_part(s, own_separator(separator), own_place(n, 1));
spark_substring_index(s, separator, n) AS
  array_to_string(CASE WHEN n > 0 THEN string_split(s, own_separator(separator))[:n]
  WHEN n < 0 THEN string_split(s, own_separator(separator))[n:]
  ELSE error('substring_index() with count 0') END, separator);
spark_contains(s, part) AS contains(own_text(s), part);
spark_split(s, pattern) AS str_split_regex(own_printable(s), pattern);
spark_rlike(s, pattern) AS regexp_matches(own_printable(s), pattern);
spark_regexp_extract(s, pattern, n := 1) AS regexp_extract(own_printable(s), pattern, n);
spark_regexp_replace(s, pattern, text) AS regexp_replace(own_printable(s), pattern, text, 'g');
spark_get_json_object(s, path) AS json_extract_string(own_text(s), path);
-- times, in UTC
spark_weekday(x) AS isodow(x) - 1;
spark_dayofweek(x) AS dayofweek(x) + 1;
spark_dayofmonth(x) AS day(x);
spark_timestamp_millis(x) AS make_timestamp(x * 1000);
spark_timestamp_seconds(x) AS make_timestamp(x * 1000000);
spark_unix_micros(x) AS epoch_us(own_time(x));
spark_unix_millis(x) AS own_floored(epoch_us(own_time(x)), 1000);
spark_unix_seconds(x) AS own_floored(epoch_us(own_time(x)), 1000000);
spark_unix_timestamp(x) AS epoch_us(x) // 1000000;
spark_from_unixtime(x) AS strftime(make_timestamp(x * 1000000), '%Y-%m-%d %H:%M:%S');
spark_date_trunc(unit, x) AS CAST(date_trunc(unit, own_timestamp(x)) AS TIMESTAMP);
spark_trunc(x, unit) AS CAST(date_trunc(unit, CAST(x AS DATE)) AS DATE);
spark_to_date(x) AS CAST(own_moment(x) AS DATE);
spark_to_timestamp(x) AS
  CASE WHEN typeof(x) IN ('DOUBLE', 'INTEGER', 'BIGINT', 'INTEGER_LITERAL')
  THEN make_timestamp(CAST(trunc(CAST(CAST(x AS VARCHAR) AS DOUBLE) * 1000000) AS BIGINT))
  ELSE own_timestamp(x) END;
spark_date_add(x, n) AS CAST(x AS DATE) + own_days(n);
spark_date_sub(x, n) AS CAST(x AS DATE) - own_days(n);
spark_datediff(a, b) AS CAST(a AS DATE) - CAST(b AS DATE);
spark_add_months(x, n) AS CAST(CAST(x AS DATE) + to_months(n) AS DATE);
spark_last_day(x) AS last_day(CAST(x AS DATE));
spark_timestampdiff(unit, a, b) AS
  own_between_moments(unit, CAST(own_moment(a) AS TIMESTAMP), CAST(own_moment(b) AS TIMESTAMP));
own_between_moments(unit, a, b) AS
  CASE WHEN unit IN ('month', 'quarter', 'year') AND (own_at_month_end(a, b) OR own_at_month_end(b, a))
  THEN error('months between days at the end of a month')
  ELSE date_sub(unit, a, b) END;
own_at_month_end(a, b) AS day(a) > day(b) AND CAST(b AS DATE) = last_day(b);
-- arrays
spark_get(a, i) AS CASE WHEN i >= 0 THEN list_extract(own_list(a), i + 1) END;
spark_element_at(a, i) AS own_item(a, i - 1);
spark_size(a) AS CAST(len(own_list(a)) AS INTEGER);
spark_array_contains(a, x) AS
  CASE WHEN typeof(x) = '"NULL"' OR (typeof(x) = 'VARCHAR') <> (typeof(a) = 'VARCHAR[]')
  THEN error('an array searched for a value of another type')
  WHEN list_contains(a, x) OR list_count(a) = len(a) THEN list_contains(a, x) END;
spark_sort_array(a) AS list_sort(a, 'ASC', 'NULLS FIRST');
spark_array_sort(a) AS list_sort(a, 'ASC', 'NULLS LAST');
spark_array_min(a) AS list_min(a);
spark_array_max(a) AS list_max(a);
-- conditions
spark_isnull(x) AS x IS NULL;
spark_isnotnull(x) AS x IS NOT NULL;
"""
_BODIES = {
    text.partition("(")[0]: text
    for text in (statement.strip() for statement in re.sub(r"^--.*", "", _MACROS, flags=re.MULTILINE).split(";"))
    if text
}
_NAMED = re.compile(r"\b(?:spark|own)_\w+", re.IGNORECASE)

NAMES = {name.removeprefix("spark_") for name in _BODIES if name.startswith("spark_")}
"""Spark's functions that stand here, and some that the translation needs."""


def macros_in(sql: str) -> Iterable[str]:
    """What makes the macros that a text of DuckDB's names, and those that these name."""
    wanted, found = {name.lower() for name in _NAMED.findall(sql)}, set[str]()
    while wanted - found:
        name = (wanted - found).pop()
        found.add(name)
        wanted |= {one.lower() for one in _NAMED.findall(_BODIES[name])}
    return [f"CREATE OR REPLACE TEMP MACRO {_BODIES[name]}" for name in sorted(found)]
