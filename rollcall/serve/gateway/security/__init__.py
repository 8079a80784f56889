"""Who a client is: TLS, SASL and the file of users. Knows neither a group nor what a client may do."""
