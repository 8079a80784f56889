"""The history of a cluster's groups only from its `__consumer_offsets` topic.

    records/    a record's bytes, and the declared shape of each type
    dumps/      files that hold the topic's records, in the formats that Kafka's own tools write
    history/    one group's records in order, folded into the facts of its history

Knows Kafka's records and the effects that they prove or suggest; the rules stand in docs/offsets-topic.md. Must not
know Spark, a table, a clock or how a history is shown.
"""

TOPIC = "__consumer_offsets"
SOURCE = "offsets-topic"
"""Its name as a source, in the quarantine."""
