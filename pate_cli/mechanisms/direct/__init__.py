"""Mechanisms that learn from the private records themselves, without teachers."""
