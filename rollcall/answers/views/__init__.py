"""What SQL users get: the views over a home's effects, each with its SQL, its columns and the rule it is made by."""
