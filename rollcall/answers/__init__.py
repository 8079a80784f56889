"""What is asked of a history: views, SQL, why, pictures, what-if."""
