"""`make run`: the coordinator, a gateway and the demo fleet as processes, and what the groups do on the terminal."""
