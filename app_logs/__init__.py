"""What brokers and clients print about groups: server.log, an application's log. A line becomes a fact, facts a story."""
