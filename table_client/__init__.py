"""Members without a broker: Python programs that share work through the request and effect tables of a home.

    with GroupMember(home, "orders", {"payments": 12}) as member:
        member.poll(1.0)

The request and effect tables outside Spark, for the gateway too: `delta_log`, `requests`, `follower`, `rows`.
Knows the tables and the pure member of `clients`; knows no Spark and no rule of the protocol.
"""

from table_client.member import CommitError, GroupError, GroupMember

__all__ = ["CommitError", "GroupError", "GroupMember"]
