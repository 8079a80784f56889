"""Code that every listening program shares: addresses, ports, connections and their limits, TLS, users, /metrics."""
