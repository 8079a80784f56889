"""Pictures of a group's history: drawn as a scene of bars, bands and marks first, then by plotly and by matplotlib."""
