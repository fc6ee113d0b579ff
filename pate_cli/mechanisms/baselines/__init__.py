"""Private learners a user would pick instead of PATE, trained on the records themselves.

Two classes or more, linear models, hyper-parameters from public numbers only.
"""
