"""`make shadow`: the request log of a running broker, followed as it is written."""
