"""The newer group protocol (KIP-848): groups whose members heartbeat, and whom the coordinator gives partitions."""
