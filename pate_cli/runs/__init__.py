"""What holds for a whole run: its guarantee, its evaluation, its diagnostics."""
