"""Query strategies: all public points, or an active learner's choice; nothing here sees a vote."""

from pate_cli.queries.strategy import Oracle, Passive, Strategy, Stream, ask_actively, collect, passive_order

__all__ = ["Oracle", "Passive", "Strategy", "Stream", "ask_actively", "collect", "passive_order"]
