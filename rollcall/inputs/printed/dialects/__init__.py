"""The wordings of brokers and of client libraries: a file each, in `rollcall.inputs.printed.dialects.catalog`."""
