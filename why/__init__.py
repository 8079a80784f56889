"""A rebalance explained: who set it off and why, who kept whom waiting, what moved, how long nobody consumed.

Stands on the facts of one group alone (`schemas.tables.EFFECTS`). Pure: must not know Spark, a table's place, a clock
or how an explanation is shown.
"""
