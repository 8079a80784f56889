"""A home asked in Spark's SQL and answered by DuckDB, without a JVM: see `rollcall.answers.sql.engine`."""
