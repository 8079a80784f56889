"""The facts of a topic beside those of a request log of the same cluster: which of them make one history."""
