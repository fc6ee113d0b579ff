"""Everything that does repeats: plans, schedules, workers, votes kept, files of a run."""
