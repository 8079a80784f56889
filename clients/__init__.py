"""The member's side of the protocol, pure: no clock, no randomness, no Spark, only the standard library and schemas."""
