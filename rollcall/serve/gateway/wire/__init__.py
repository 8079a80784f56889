"""Bytes of Kafka's wire protocol: frames, heads, messages. Knows no connection, no group and no table."""
