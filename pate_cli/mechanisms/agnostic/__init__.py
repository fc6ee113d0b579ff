"""Agnostic private learners over classes with listable dichotomies (NB20, LWY25)."""
