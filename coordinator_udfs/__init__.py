"""The coordinator as Spark runs it: the pure protocol, its state document, and the function that joins both to a stream."""
