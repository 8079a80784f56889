"""Code that every program shares: its start and end, its settings, and its messages to users."""
