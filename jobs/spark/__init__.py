"""How a program gets a SparkSession: the JARs, the settings, the daemon of the Python workers, and signals."""
