"""Why a recorded answer differs from what the log says so far: what happened without a line, as requests of its own."""
