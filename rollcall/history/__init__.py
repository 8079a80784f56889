"""What a group's facts say of it: its members, its rebalances and who owned which partition."""
