"""A gateway before a real Kafka cluster: groups are answered here, everything else by the cluster, byte for byte.

The gateway stands in for every broker: it has one port for each broker, and clients see these in place of the brokers'
addresses. Knows brokers; knows no group.
"""
