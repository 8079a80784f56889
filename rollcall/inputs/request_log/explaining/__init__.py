"""Why a recorded answer differs from the one expected: what happened without a line, as requests of their own."""
