"""Rollcall: a coordinator of Kafka's consumer groups that forgets nothing."""
