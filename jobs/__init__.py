"""The programs that a person or spark-submit starts: the only place with a SparkSession."""
