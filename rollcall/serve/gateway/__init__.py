"""The gateway: a process that speaks Kafka's wire protocol in front of the request and effect tables; no Spark here."""
