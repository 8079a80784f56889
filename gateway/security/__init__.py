"""Who a client is: TLS, SASL and the file of users. Knows no group; what somebody may do is `gateway.access`'s."""
