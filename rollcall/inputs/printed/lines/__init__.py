"""Files and lines as entries: what was put around a line is taken off."""
