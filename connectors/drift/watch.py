"""The watch over the loss of a champion: what a drift leads to, what was done so far, and both as data."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from connectors.drift import state
from connectors.drift.detectors import MODULES, RiseDetector
from connectors.drift.state import BadDrift

log = logging.getLogger(__name__)

WARN, RESET, PROMOTE = "warn", "reset", "promote"


class Plan(NamedTuple):
    """What the file says: a detector by the name of its class, its parameters, and what a drift leads to.

    `promotes` is the name of the challenger for `promote`, else empty.
    """

    detector: str
    parameters: dict[str, Any]
    then: str
    promotes: str = ""

    @property
    def named(self) -> str:
        """The detector with its parameters, for people.

        >>> Plan("ADWIN", {"delta": 0.01}, "warn").named
        'ADWIN(delta=0.01)'
        """
        return f"{self.detector}({', '.join(f'{name}={value!r}' for name, value in self.parameters.items())})"

    @property
    def action(self) -> str:
        """What a drift leads to, as the file writes it."""
        return f"{PROMOTE}: {self.promotes}" if self.promotes else self.then


@dataclass
class Past:
    """What was seen and done so far, in the life of the models.

    Attributes
    ----------
    drifts
        How many drifts there were.
    last
        The source of the record of the last one; empty without one.
    newest
        With labels that come later: the number of the last record that was predicted, an offset or a line.
    since
        The number of the last record that the model predicted before it began anew; its predictions are not watched.
    instead_of
        The name of the model in whose place a drift has put the champion; empty without such a one.
    """

    drifts: int = 0
    last: str = ""
    newest: int = -1
    since: int = -1
    instead_of: str = ""


@dataclass
class Drift:
    """What a snapshot tells about the watch: the plan it follows, the state of its detector, and its past."""

    detector: str
    parameters: dict[str, Any]
    then: str
    promotes: str
    state: dict[str, Any]
    past: Past = field(default_factory=Past)

    @property
    def plan(self) -> Plan:
        """The plan that the watch followed."""
        return Plan(self.detector, self.parameters, self.then, self.promotes)


_DRIFT = TypeAdapter(Drift)


def drift_of(about: Mapping[str, Any]) -> Drift | None:
    """Return what a snapshot tells about its watch, or None for one without. Raise BadDrift."""
    if "drift" not in about:
        return None
    try:
        drift = _DRIFT.validate_python(about["drift"])
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise BadDrift(f"its data about drift are not well formed: `{place}`: {error.errors()[0]['msg']}") from None
    if drift.detector not in MODULES:
        raise BadDrift(f"it names `{drift.detector}`, which is none of the detectors {', '.join(MODULES)}")
    state.read(drift.detector, drift.parameters, drift.state)
    return drift


class Watch:
    """Watches the loss of a champion, and tells when a drift was seen.

    Parameters
    ----------
    plan
        What the file says.
    anew
        Returns an untrained model by its name, for `reset`.
    place
        Returns the `extra` of a log line about a record by its source.
    drift
        What a snapshot tells; None for a new watch. If its detector is that of the plan, this one goes on as it was.

    Attributes
    ----------
    past
        What was seen and done so far.
    committed
        How many drifts there were at the last snapshot.
    """

    def __init__(
        self,
        plan: Plan,
        anew: Callable[[str], Any],
        place: Callable[[str], Mapping[str, Any] | None] = lambda source: None,
        drift: Drift | None = None,
    ) -> None:
        self.plan, self.anew, self._place = plan, anew, place
        self.past = Past(**asdict(drift.past)) if drift else Past()
        if drift is not None and drift.plan[:2] == plan[:2]:
            self._detector = state.read(*plan[:2], drift.state)
        else:
            self._detector = RiseDetector(*plan[:2])
        self._logged = ""
        self.save()

    @property
    def value(self) -> dict[str, Any]:
        """What a snapshot tells, as values that JSON has."""
        return asdict(Drift(*self.plan, state.write(self._detector), self.past))

    def save(self) -> None:
        """Note that a snapshot holds the watch of this moment."""
        self._saved, self.committed = _DRIFT.validate_python(self.value), self.past.drifts

    def go_back(self) -> None:
        """Go back to the watch of the snapshot."""
        self._detector = state.read(*self.plan[:2], self._saved.state)
        self.past = Past(**asdict(self._saved.past))

    def follow(self, former: "Watch") -> None:
        """Take over from a watch of the same model: its past, and its detector unless the file names another one."""
        self.past = former.past
        if former.plan[:2] == self.plan[:2]:  # else what it has answered already would lead to the same drift again
            self._detector = former._detector

    def sees_drift(self, loss: float) -> bool:
        """Take the loss of the champion on the next judged record, and tell whether it has risen."""
        return self._detector.update(loss)

    def note(self, source: str, did: str) -> None:
        """Note what was done after a drift at the record of this source, and log it once."""
        self.past.drifts += 1
        self.past.last = source
        if self._logged != source:
            self._logged = source
            log.warning(
                "drift at %s: %s saw the loss rise; %s", source, self.plan.named, did, extra=self._place(source)
            )
