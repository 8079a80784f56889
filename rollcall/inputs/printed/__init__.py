"""What brokers and clients print about groups: a line becomes a fact, and facts become a group's story."""
