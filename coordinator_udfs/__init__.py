"""The coordinator as Spark runs it: the pure protocol, its state document, and the function joining both."""
