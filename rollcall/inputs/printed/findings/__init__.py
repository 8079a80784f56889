"""What printed lines show beside rebalances."""
