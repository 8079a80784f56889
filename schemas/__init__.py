"""Every shape that crosses a boundary (requests, replies, rows), declared once; imports nothing of the rest of the
project.
"""
