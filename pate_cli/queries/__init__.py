"""Which public points are asked: all of them, or the active learner's choice.

Nothing here sees a vote: an active learner holds the public points and a function
that asks for one label.
"""

from pate_cli.queries.active import ActiveLearner, ask_actively
from pate_cli.queries.passive import collect, passive_order

__all__ = ["ActiveLearner", "ask_actively", "collect", "passive_order"]
