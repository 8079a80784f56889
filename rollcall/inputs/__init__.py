"""The readers of what a cluster recorded or printed, and how they are followed and merged."""
