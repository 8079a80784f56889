"""Who a client is: TLS, SASL and the file of users. Knows no group; `rollcall.serve.gateway.access` knows what a client may do."""
