"""Every shape that crosses a boundary (requests, replies, rows), declared once; imports nothing else of the project."""
