"""The data plane of a gateway on its own: topics from the settings, every partition empty for ever.

Enough for unmodified consumers to run and to share the partitions out. Knows topics; knows no group.
"""
