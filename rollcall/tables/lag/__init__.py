"""The history of log starts and ends: which rows of it are kept. Pure; knows no log line, no broker and no SQL."""
