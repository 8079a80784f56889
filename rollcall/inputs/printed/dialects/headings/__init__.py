"""What stands before the messages of one program, where a file of wordings cannot say it: a module each."""
