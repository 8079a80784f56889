"""Files that hold the topic's records: the formats that Kafka's tools write, read into records with their bytes."""
