"""Fit diffprivlib's logistic regression to records of standard input, under a Python that has it."""

import io
import sys
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression

warnings.simplefilter("ignore")  # lbfgs may stop before it is exact
given = np.load(io.BytesIO(sys.stdin.buffer.read()))
model = LogisticRegression(
    epsilon=float(given["eps"]), data_norm=float(given["norm"]), random_state=int(given["seed"])
).fit(given["X"], given["y"])
np.savez(sys.stdout.buffer, coef=model.coef_, intercept=model.intercept_)
