"""The command `rollcall`: its subcommands, their options and an example of each. What they do is elsewhere."""
