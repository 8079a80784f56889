"""A gateway before a real Kafka cluster: the groups are ours, everything else is the cluster's, byte for byte.

The gateway stands in for every broker: one port a broker, and brokers' addresses are ours wherever clients learn them.
Knows brokers; knows no group.
"""
