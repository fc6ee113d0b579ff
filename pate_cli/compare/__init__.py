"""Accuracy of many methods against eps at the same splits, beside non-private baselines.

The rows are those of `pate_cli.reproduce`, so is the engine that does them and keeps what is done; here
is what to run (`methods`), the non-private baselines (`baselines`), what follows (`statements`), and the
figure and the report. Importing this package is cheap.
"""
