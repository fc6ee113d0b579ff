"""Mechanisms that release noisy scores and train on them: `score_boosting` and its parts."""
