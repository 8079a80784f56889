"""From a log file to requests: files and rotation, the clock of the log, one line, its JSON, and the order of time."""
