"""What follows growing recordings and a cluster's topic, and commits what it finds."""
