"""The streaming query: where requests come from, who writes the effects, and the upkeep of the tables beside it."""
