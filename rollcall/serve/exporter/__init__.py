"""A home's groups as Prometheus' metrics: kafka_exporter's and klag-exporter's names, and what only a history knows."""
