"""A home's tables outside Spark: Delta's log, the request table, rows and answers, and who follows a table.

The streaming source, the writers, the gateway, `why` and pictures share this one layer. Knows Delta on
a local disk and the columns in `rollcall.schemas.tables`; must not know Spark, a job's settings or a rule of the
protocol. `delta_log` loads neither pyarrow nor deltalake, so a program that only asks for file names
starts fast.
"""
