"""Pictures of a group's history: a scene of bars, bands and marks first, then one text of SVG."""
