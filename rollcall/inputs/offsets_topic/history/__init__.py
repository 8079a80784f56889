"""One group's records in order, folded into the facts of its history; pure, so that it can run keyed by group id."""
