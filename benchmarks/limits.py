"""What limits the figures of each layer now: the words beside them in docs/performance.md. Knows no figure."""

from __future__ import annotations

LIMITS: dict[str, str] = {
    "core": (
        "One Python process. A heartbeat looks at its own member alone, so that a group's size costs nothing; a "
        "rebalance grows with its members, as in Kafka."
    ),
    "streaming": (
        "The do-nothing pipeline is the same query with a function that answers nothing: Spark's planning, its state "
        "store and the commit to Delta take most of an answer's time. A group of a batch costs a tenth of a "
        "millisecond in the Python workers, which do without pandas (decision 10); pyspark's own way took nine times "
        "as long. A run of heartbeats is one row in and one out (decision 12). In each batch Spark looks through the "
        "state of every group for deadlines that are due, 2 us a group whatever the function does: that is what an "
        "idle tick of 100,000 groups takes longer."
    ),
    "live": (
        "What changes a group waits for micro-batches of a third of a second: a join for the rest of the one that "
        "runs and for its own, a sync for another two halves, and members that come later set off another rebalance. "
        "Heartbeats of a group at rest wait for none (decision 13), and a new client learns its member id at once. "
        "The heartbeats here are sent one right after the other by 50 members, which keeps the gateway's one loop "
        "busy all the time. At rest 100,000 heartbeats of 1,000 groups take 100 s to come, in which a job with "
        "nothing to do uses 23 s of a core, a batch a second; their runs, 200 rows a second, take 5 s more, and the "
        "gateway 15."
    ),
    "gateway": "One event loop in one process; more gateways serve more clients.",
    "floods": "Every request takes its turn in one loop; long ones are read in threads (decision 11).",
    "history": (
        "DuckDB reads the Parquet files that the log names, without a JVM (decision 8); Spark took twenty seconds to "
        "start. A query over all groups reads all files, one about a group skips most of them by their statistics."
    ),
    "replay": (
        "A log is looked over, then read by a process of its own, which follows its groups line by line to find "
        "in which order the broker took what came together, packs heartbeats into runs and compares the answers: "
        "some 20 us of a core a line, 83 us for a line by which a group forms; where all groups are busy the rest "
        "waits for it. Spark's JVM takes 6 to 12 us a "
        "line, its Python workers 7 and the driver 4: over 40 us for two cores. Tried without a gain: parsing in "
        "another process, since handing a line over costs 11 us and parsing it 5; reading only a heartbeat's "
        "numbers; a shorter way for heartbeats through a group; runs of the stream that begin with 60,000 requests, "
        "where a run takes 300,000 or all of a shorter log."
    ),
    "offsets_topic": (
        "The plain copy is Spark's Kafka source and its Delta sink alone, in the same run. Commits that are kept pass "
        "through Python workers and come to the driver as texts, one call a group and batch. Those that are not asked "
        "for are dropped by Spark's own expressions, so that reading from Kafka is most of what is left; the query's "
        "start, its batches and its state take some seconds however few records there are, which tells with fewer. "
        "Memory is that of all processes, the broker's included; a JVM fills the heap that it was given before it "
        "tidies up."
    ),
    "scaling": (
        "Processor time of a cluster of workers of one core each. What it means for a deployment stands in "
        "[scaling](scaling.md)."
    ),
    "page": "The lists of all groups are kept ready and made anew where facts came.",
    "upkeep": (
        "Small files are put together beside the job, so that reading does not slow down as a home grows. A commit "
        "reads what the log has had since the one before, and every file and every removed file that is still kept."
    ),
    "whatif": "Each group is simulated by one Python process in virtual time.",
}
"""By layer."""
