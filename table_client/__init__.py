"""Members without a broker: Python programs that share work through the request and effect tables of a home.

    with GroupMember(home, "orders", {"payments": 12}) as member:
        member.poll(1.0)

Knows the table layer and the pure member of `clients`; must not know Spark or a rule of the protocol.
"""

from table_client.group_member import CommitError, GroupError, GroupMember

__all__ = ["CommitError", "GroupError", "GroupMember"]
