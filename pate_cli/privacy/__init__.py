"""Accounting and noise: pure functions of public numbers, numpy and scipy only.

Nothing here reads a configuration, a file or a record.
"""
