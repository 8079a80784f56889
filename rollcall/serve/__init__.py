"""The programs that serve others: gateway, page, exporter, alarms."""
