"""The facts of a request log beside those of the topic of the same cluster: which of them make one history."""
