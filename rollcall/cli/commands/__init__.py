"""The command `rollcall`: its subcommands, with their options and examples."""
