"""Attacks on SQL: whatever is asked reads this home's files and nothing else, and changes nothing.

The page and `make sql` ask in Spark's SQL, `--engine duckdb` in DuckDB's own; each try goes both ways.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

from rollcall.answers.sql import engine, known_equal, spark_sql
from rollcall.answers.sql.engine import NoSuchName, NotEqual, ask
from rollcall.serve.page import queries
from rollcall.serve.page.queries import QueryRefused
from rollcall.tables.duck_database import open_database
from tests.page.homes import recorded

SECRET = "rollcall-secret-4711"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("home"), "d-kill")


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files that nobody may read, and whose names nobody may learn."""
    folder = tmp_path_factory.mktemp("secret")
    for name in ("secret.csv", "secret.json", "secret.txt", "secret.parquet"):
        (folder / name).write_text(f'{{"a": "{SECRET}"}}\n')
    duckdb.sql(f"COPY (SELECT '{SECRET}' AS a) TO '{folder}/secret.parquet'")
    with duckdb.connect(str(folder / "secret.duckdb")) as database:
        database.execute(f"CREATE TABLE t AS SELECT '{SECRET}' AS a")
    return folder


def tries(folder: Path) -> list[str]:
    """Queries that would reach beyond the home."""
    csv, parquet, database = folder / "secret.csv", folder / "secret.parquet", folder / "secret.duckdb"
    files = [
        *(f"select * from {read}('{csv}')" for read in ("read_csv", "read_csv_auto", "sniff_csv", "read_text")),
        *(f"select * from {read}('{csv}')" for read in ("read_blob", "read_json", "read_json_auto", "read_ndjson")),
        *(f"select * from {read}('{parquet}')" for read in ("read_parquet", "parquet_scan", "parquet_metadata")),
        *(f"select * from {read}('{parquet}')" for read in ("parquet_schema", "parquet_file_metadata")),
        *(f"select * from {read}('{parquet}')" for read in ("parquet_kv_metadata", "parquet_bloom_probe")),
        *(f"select * from '{path}'" for path in (csv, parquet, folder / "*", database)),
        *(f'select * from "{path}"' for path in (csv, parquet)),
        *(f"select * from glob('{pattern}')" for pattern in ("/*", f"{folder}/*", f"{folder}/../*", "*", "/etc/*")),
        *(f"select * from csv.`{path}`" for path in (csv, "/etc/passwd")),
        *(f"select * from parquet.`{path}`" for path in (parquet,)),
        *(
            f"select * from read_text('{path}')"
            for path in ("/etc/passwd", "/proc/self/environ", "/dev/stdin", "~/.ssh")
        ),
        *(
            f"select * from read_text('{url}')"
            for url in ("http://127.0.0.1:1/x", "https://example.invalid", "s3://b/k")
        ),
        *(f"select * from read_parquet('{url}')" for url in ("hf://x", "gcs://b/k", "http://127.0.0.1:1/x.parquet")),
        f"select * from query('select * from read_text(''{csv}'')')",
        f"select * from query_table('{csv}')",
        f"with x as (select * from read_text('{csv}')) select * from x",
        f"select (select content from read_text('{csv}')) as c",
        f"select * from effects where group_id in (select content from read_text('{csv}'))",
        f"select * from (from read_text('{csv}'))",
        f"select count(*) from effects, lateral (select * from read_text('{csv}'))",
        f"from read_text('{csv}')",
        f"table '{csv}'",
        f"select * from sqlite_scan('{database}', 't')",
        f"select * from iceberg_scan('{folder}')",
        f"select * from delta_scan('{folder}')",
    ]
    writes = [
        f"copy (select 1) to '{folder}/written.csv'",
        f"copy effects from '{csv}'",
        f"export database '{folder}/written'",
        f"import database '{folder}'",
        f"attach '{database}' as x",
        f"attach '{folder}/written.duckdb'",
        "detach memory",
        "use memory",
        "create table x as select 1",
        "create view x as select 1",
        "create macro x() as 1",
        "create or replace view effects as select 1",
        "create secret (type s3, key_id 'x')",
        "insert into effects select * from effects",
        "update effects set group_id = 'x'",
        "delete from effects",
        "drop view effects",
        "alter table effects add column x int",
        "truncate effects",
        "vacuum",
        "checkpoint",
        "begin",
        "prepare x as select 1",
        "execute x",
        "call pragma_version()",
        "explain analyze select 1",
        "analyze",
        "comment on view effects is 'x'",
        "select 1; select 2",
        f"select 1; copy (select 1) to '{folder}/written.csv'",
        "with x as (insert into effects select * from effects returning *) select * from x",
        "merge into effects using effects as e on true when matched then delete",
    ]
    settings = [
        "set enable_external_access = true",
        "reset enable_external_access",
        "set lock_configuration = false",
        "set memory_limit = '100GB'",
        "set threads = 64",
        f"set temp_directory = '{folder}'",
        f"set allowed_directories = ['{folder}']",
        f"set home_directory = '{folder}'",
        f"set extension_directory = '{folder}'",
        "set python_enable_replacements = true",
        "set allow_unsigned_extensions = true",
        "set variable x = 1",
        "pragma database_list",
        "pragma enable_profiling",
        f"pragma profiling_output = '{folder}/written.json'",
        f"pragma log_query_path = '{folder}/written.log'",
        "pragma memory_limit = '100GB'",
        "install httpfs",
        "force install httpfs from 'http://127.0.0.1:1'",
        "load httpfs",
        f"load '{folder}/x.duckdb_extension'",
        "update extensions",
        "select getenv('HOME')",
        "select * from secret",
        "select * from os",
    ]
    return [*files, *writes, *settings]


def asked(home: Path, query: str) -> list[str]:
    """What a query gives, asked as the page asks and as DuckDB's own."""
    found = []
    with suppress(QueryRefused):
        found.append(queries.answer(home, query, None, "csv").body.decode())
    with suppress(NotEqual, NoSuchName):
        found.append(repr(list(ask(home, query, is_duckdbs=True).rows)))
    return found


def test_no_try_reads_a_file_or_a_setting_or_writes(home: Path, secret: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLLCALL_SECRET", SECRET)
    before = sorted(os.listdir(secret))
    all_tries = tries(secret)
    assert len(all_tries) > 100
    for query in all_tries:
        assert asked(home, query) == [], query
    assert sorted(os.listdir(secret)) == before
    assert next(iter(ask(home, "select count(*) from effects").rows))[0] > 0


def functions_of_duckdb() -> list[tuple[str, str, int]]:
    """Every function that DuckDB lists: its name, its kind, and how many arguments it takes."""
    with duckdb.connect() as database:
        listed = "select distinct function_name, function_type, len(parameters) from duckdb_functions()"
        rows = database.execute(listed).fetchall()
    return [(name, kind, min(count or 0, 4)) for name, kind, count in sorted(rows, key=str) if name.isidentifier()]


def test_no_function_of_duckdbs_reads_a_file_whatever_it_takes(home: Path, secret: Path) -> None:
    """Each with the path of a file in place of each of its texts, in a database that is locked as one that is asked."""
    files = [str(secret / name) for name in ("secret.csv", "secret.parquet", "secret.duckdb")]
    with open_database() as database:
        engine.lock(database, [])
        for name, kind, count in functions_of_duckdb():
            for path in files:
                given = ", ".join([f"'{path}'"] * max(count, 1))
                query = f"select * from {name}({given})" if "table" in kind else f"select {name}({given})"
                try:
                    found = repr(database.execute(query).fetchmany(100))
                except duckdb.Error:
                    continue
                assert SECRET not in found, query
                assert "secret.txt" not in found, query


def test_the_page_calls_no_function_that_is_not_on_its_list(home: Path) -> None:
    known = {*known_equal.FUNCTIONS, *known_equal.OTHER_NAMES}
    for name, kind, count in functions_of_duckdb():
        if name.lower() not in known and "macro" not in kind:
            given = ", ".join(["group_id"] * count)
            with pytest.raises((NotEqual, NoSuchName)):
                spark_sql.translated(f"select {name}({given}) as x from groups", engine.columns())


def test_what_does_not_fit_into_the_temporary_folder_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollcall.tables.duck_database.SPILLED_MB", 1)
    with open_database(memory_mb=60) as database, pytest.raises(duckdb.OutOfMemoryException, match="max_temp"):
        database.execute("create temp table t as select md5(range::varchar) as a from range(3000000) order by 1")


def test_settings_stay_as_they_are(home: Path) -> None:
    with open_database() as database:
        engine.lock(database, [])
        for setting, value in (("enable_external_access", "true"), ("threads", "64"), ("memory_limit", "'100GB'")):
            with pytest.raises(duckdb.Error):
                database.execute(f"set {setting} = {value}")
