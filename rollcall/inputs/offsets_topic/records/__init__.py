"""The records of `__consumer_offsets`: their layouts, their shapes by type and version, and bytes into shapes."""
