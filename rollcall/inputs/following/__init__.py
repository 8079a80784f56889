"""What follows growing recordings, without a job that commits what it finds."""
