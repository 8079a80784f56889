"""A home asked in Spark's SQL and answered by DuckDB, without a JVM: see `duck_sql.engine`."""
