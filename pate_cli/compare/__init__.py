"""Accuracy against eps: many methods at the same splits of one dataset, and how far off the ceiling is.

The rows are those of `pate_cli.reproduce`, so is the engine that does them and keeps what is done; here
is what to run (`methods`), what it is held against (`yardsticks`), what follows (`statements`), and the
figure and the report. Importing this package is cheap.
"""
