"""A rebalance explained: who set it off and why, who kept whom waiting, what moved, how long nobody consumed.

Needs only one group's facts (`rollcall.schemas.tables.EFFECTS`), so that it needs no Spark and answers in a
second. Memberships, ownership, gaps and rebalances go by the rules of the views of those names, and a test holds the
two equal. Pure: must not know Spark, a table's place, a clock or how an explanation is shown.
"""
