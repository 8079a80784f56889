"""One group as the log shows it: the pure core replays its requests, and the recorded answers decide their order."""
