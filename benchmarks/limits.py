"""What limits the figures of each layer now: the words beside them in docs/performance.md. Knows no figure."""

from __future__ import annotations

LIMITS: dict[str, str] = {
    "core": (
        "One Python process. A heartbeat looks at its own member alone, so that a group's size costs nothing; a "
        "rebalance grows with its members, as in Kafka."
    ),
    "live": (
        "A request that changes a group waits for micro-batches of a third of a second. A join waits for the end of "
        "the running batch and for its own batch; so does a sync. Members that come later set off another rebalance. "
        "Heartbeats of a group at rest do not wait for a batch (decision 13), and a new client gets its member id at "
        "once. In this measurement 50 members send heartbeats without a pause, so the gateway's one loop is always "
        "busy. At rest 1,000 groups send 100,000 heartbeats in 100 s. In that time an idle job uses 23 s of a core for "
        "a batch each second; the heartbeats' runs, 200 rows a second, take 5 s more, and the gateway 9. Commits of "
        "members of a group at rest are answered once they are in the request table (decision 19), to which the "
        "gateway appends every 30 ms."
    ),
    "floods": "One loop serves all requests in turn; long ones are decoded in threads (decision 11).",
    "history": (
        "DuckDB reads the Parquet files that the log names, without a JVM (decision 8); Spark took twenty seconds to "
        "start. A query over all groups reads all files; one about a group skips most of them by their statistics."
    ),
    "replay": (
        "From the command to the report. A line is parsed once, written to a file by group, and read again. A "
        "heartbeat costs little; a join or a sync costs more, since it is tried on a copy of the group first. The "
        "parent process appends the rows. A plain file is cut into sections of 16 MiB; a compressed file is read by "
        "one process, and a group is followed by one process. Spark's tasks call the same functions; the shuffle and "
        "the copies to and from the JVM are added. Spark's workers were measured on a million lines, each on its own "
        "core: with two cores one worker would use both, since a JVM and a Python process take turns."
    ),
    "offsets_topic": (
        "The plain copy is Spark's Kafka source and its Delta sink alone, in the same run. Commits that are kept pass "
        "through Python workers and come to the driver as texts, with one call for each group and batch. Commits that "
        "are left out are dropped by Spark's own expressions, so most of the time is spent reading from Kafka. The "
        "query's start, its batches and its state take some seconds even with few records. Memory is that of all "
        "processes, including the broker; a JVM fills its heap before it collects garbage."
    ),
    "page": "The lists of all groups are kept in memory and updated for groups with new facts.",
    "starting": (
        "A gateway reads the file of lasting facts that upkeep writes, or finds these facts by the files' statistics. "
        "A coordinator reads nothing of the history. Its start is the JVM, Spark, and a first batch with a new plan, "
        "new code and new Python workers; the JVM's compiler takes a fifth of it. Without the archive of Spark's "
        "classes it takes 3 s longer. If other programs use the two cores, it takes twice as long."
    ),
}
"""By layer."""
