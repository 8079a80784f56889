"""`rollcall shadow`: a running broker's log or a cluster's topic, followed as it is written."""
