"""The rules of Kafka's classic group protocol, pure: no clock, no randomness, no Spark, only the standard library and schemas."""
