"""The wordings of brokers and of client libraries: one file each, listed in `rollcall.inputs.printed.dialects.catalog`."""
