"""`make replay`: a finished request log through the coordinator, and its answers beside the recorded ones."""
