"""`make whatif`: a recorded log played again with other settings."""
