"""What releases cost: events, accounts of them, and their composition."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from pate_cli.privacy.composition import pure_eps
from pate_cli.privacy.gaussian import vector_eps

__all__ = ["Account", "Apart", "Event", "Gdp", "Inner", "Pure", "compose"]


class Event(ABC):
    """What one release costs, hashable. A kind of noise of one's own may have a class of its own.

    Attributes
    ----------
    takes_delta : bool
        Whether its eps is a function of a delta that one chooses.
    once : bool
        Whether it is paid once, however many releases it covers: an object that is equal to no other.
    """

    takes_delta: ClassVar[bool] = False
    once: ClassVar[bool] = False

    def draws(self) -> Counter[tuple[str, float]]:
        """How many numbers were drawn for it beside its releases, by law and scale; by default none."""
        return Counter()

    @classmethod
    @abstractmethod
    def compose(cls, counts: Mapping[Any, int], delta: float) -> tuple[float, float]:
        """(eps, delta) of so many of each, chosen adaptively; at that delta if it takes one."""


EventT = TypeVar("EventT", bound=Event)


@dataclass(frozen=True)
class Gdp(Event):
    """A Gaussian release, mu-GDP; mu^2 of adaptive ones adds up (Dong, Roth, Su 2022, Corollary 2)."""

    takes_delta = True
    mu_squared: float = 0.0
    integers: int = 0  # how many numbers got integer noise (`pate_cli.privacy.gaussian`)

    def __post_init__(self) -> None:
        if not self.mu_squared >= 0:
            raise ValueError(f"a Gaussian release of mu^2 {self.mu_squared}; accepted: 0 or more")

    @property
    def mu(self) -> float:
        """Its root."""
        return math.sqrt(self.mu_squared)

    def eps(self, delta: float) -> float:
        """Its eps at that delta."""
        return vector_eps(self.mu, self.integers, delta)

    @classmethod
    def sum(cls, counts: Mapping[Any, int]) -> Self:
        """One event that costs what all Gaussian releases of an account do."""
        gaussian = [(event, count) for event, count in counts.items() if isinstance(event, cls)]
        return cls(
            math.fsum(event.mu_squared * count for event, count in gaussian),
            sum(event.integers * count for event, count in gaussian),
        )

    @classmethod
    def compose(cls, counts: Mapping[Any, int], delta: float) -> tuple[float, float]:
        """See `Event`."""
        return (cls.sum(counts).eps(delta) if delta > 0 else math.inf), delta


@dataclass(frozen=True)
class Pure(Event):
    """An eps-DP release; the losses add up."""

    eps: float

    def __post_init__(self) -> None:
        if not self.eps >= 0:  # as of a negative scale: it would be paid back what others cost
            raise ValueError(f"a release of eps {self.eps}; accepted: 0 or more")

    @classmethod
    def sum(cls, counts: Mapping[Any, int]) -> float:
        """Sum of the pure losses of an account."""
        return math.fsum(event.eps * count for event, count in counts.items() if isinstance(event, cls))

    @classmethod
    def exact(cls, counts: Mapping[Any, int], delta: float) -> float:
        """Smallest eps of an account, by the exact composition of equal losses; inf if they are not equal."""
        if (
            len(equal := [(event.eps, count) for event, count in counts.items() if isinstance(event, cls)])
            > 1
        ):
            return math.inf
        return sum(pure_eps(eps, count, delta) for eps, count in equal)

    @classmethod
    def compose(cls, counts: Mapping[Any, int], delta: float) -> tuple[float, float]:
        """See `Event`."""
        return cls.sum(counts), 0.0


@dataclass(frozen=True)
class Inner(Event):
    """A choice that only the mechanism itself sees: unless its proof counts it, nothing is promised."""

    event: Event

    @classmethod
    def compose(cls, counts: Mapping[Any, int], delta: float) -> tuple[float, float]:
        """See `Event`."""
        return math.inf, 0.0


@dataclass(frozen=True, eq=False)
class Apart(Event):
    """The account of a door of `Door.apart`: the mechanism's class says how they compose."""

    account: Account

    @classmethod
    def compose(cls, counts: Mapping[Any, int], delta: float) -> tuple[float, float]:
        """See `Event`."""
        return math.inf, 0.0


class Account(Counter[Event]):
    """How many events of each cost passed a door, in the order in which they came first. Public numbers."""

    def pay(self, event: Event, count: int = 1) -> None:
        """Count an event so many times, or once if it covers all its releases."""
        if event.once and type(event).__eq__ is not object.__eq__:  # of two that are equal one was not paid
            raise TypeError(f"{type(event).__name__} is paid once; accepted: a class without ==, as eq=False")
        if count:
            self[event] = 1 if event.once else self[event] + count

    def only(self, *kinds: type[Event]) -> bool:
        """Whether nothing but events of these classes passed the door."""
        return all(isinstance(event, kinds) for event in self)

    def of(self, kind: type[EventT]) -> dict[EventT, int]:
        """Those of a class."""
        return {event: count for event, count in self.items() if isinstance(event, kind)}

    def without(self, kind: type[Event]) -> Account:
        """All but those of a class."""
        return Account({event: count for event, count in self.items() if not isinstance(event, kind)})

    @property
    def inner(self) -> Account:
        """The choices that only the mechanism itself saw."""
        return Account({event.event: count for event, count in self.items() if isinstance(event, Inner)})

    @property
    def apart(self) -> list[Account]:
        """Accounts of the doors that `Door.apart` made, in order."""
        return [event.account for event in self if isinstance(event, Apart)]

    def flat(self) -> Account:
        """It and those apart, as one."""
        return sum((each.flat() for each in self.apart), self.without(Apart))

    def __add__(self, other: Any) -> Account:  # type: ignore[override]
        return Account(Counter.__add__(self, other))


def compose(account: Account, delta: float) -> tuple[float, float]:
    """(eps, delta) of an account: each class of event by its own proof, and the sum of these.

    What takes no delta comes first; the others share what is left of `delta`.
    """
    of_class: dict[type[Event], Any] = {type(event): account.of(type(event)) for event in account}
    fixed = [kind.compose(events, 0.0) for kind, events in of_class.items() if not kind.takes_delta]
    taking = [kind for kind in of_class if kind.takes_delta]
    share = (delta - math.fsum(d for _, d in fixed)) / max(len(taking), 1)
    losses = fixed + [kind.compose(of_class[kind], share) for kind in taking]
    return math.fsum(eps for eps, _ in losses), math.fsum(d for _, d in losses)
