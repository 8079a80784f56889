"""The rules of Kafka's classic group protocol, pure: no clock, no randomness, no Spark; stdlib and schemas only."""
