"""What every program shares: how it is started and ended, how its settings are read, what a user is told."""
