"""The wordings of brokers and of client libraries: a file each, listed in `catalog.py`."""
