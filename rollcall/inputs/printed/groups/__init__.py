"""A group's life, as printed lines have it: members, rebalances, owners."""
