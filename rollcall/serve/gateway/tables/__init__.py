"""The home's tables as a gateway uses them: requests are appended, effects are followed. Knows no socket, no wire."""
