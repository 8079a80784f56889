"""A gateway before a real Kafka cluster: groups are answered here, everything else by the cluster, byte for byte.

The gateway stands in for every broker: one port a broker, and brokers' addresses are ours wherever clients learn them.
Knows brokers; knows no group.
"""
