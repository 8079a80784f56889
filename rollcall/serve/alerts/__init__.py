"""Alarms of a home's troubles: each is opened once, closed once, and sent to whoever is to know."""
