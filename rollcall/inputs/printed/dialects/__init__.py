"""The wordings of brokers and of client libraries: a file of TOML each, of the form that `formats.py` describes."""
