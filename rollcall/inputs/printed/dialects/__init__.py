"""The wordings of brokers and of client libraries: one file each, listed in `app_logs.dialects.catalog`."""
