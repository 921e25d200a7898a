"""Which records to ask a label for: a sampler decides, and a budget of records bounds it.

Both count only records that could be asked for: predicted, without a label, and with an id by which one can find them.
No clock is involved, so the same records in the same order are asked for again.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson
from river import compose

from connectors.labels.waiting import BadState
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.records import ANY_KEYS, Record

log = logging.getLogger(__name__)


class Query(NamedTuple):
    """A record whose label is asked for.

    Attributes
    ----------
    record
        The record.
    value
        What a person or a program needs to label it: a JSON object with id, prediction, score and the whole record.
    snapshot
        The snapshot that its model started from.
    """

    record: Record
    value: bytes
    snapshot: str


class Asked(NamedTuple):
    """How far sampler and budget have come, as data: a checkpoint holds it.

    Attributes
    ----------
    sampler
        The class of the sampler.
    position
        Its counts and the state of its generator, as its `position`.
    records
        How many records could be asked for so far.
    requests
        The numbers of those that were, as far as the budget still counts them.
    """

    sampler: str
    position: dict[str, Any]
    records: int
    requests: list[int]


class Budget:
    """At most `most` requests among any `records` records in a row.

    Parameters
    ----------
    most, records
        The bound.
    count, requests
        How many records there were already, and the numbers of those for which it granted a request.

    >>> budget = Budget(2, 4)
    >>> [budget.grants() for _ in range(9) if budget.count_one() is None]
    [True, True, False, False, True, True, False, False, True]
    """

    def __init__(self, most: int, records: int, count: int = 0, requests: tuple[int, ...] | list[int] = ()) -> None:
        self._most, self._records = most, records
        self.count, self._requests = count, deque(requests)

    def count_one(self) -> None:
        """Count a record."""
        self.count += 1

    def grants(self) -> bool:
        """Grant a request for the record that was counted last, unless too many of the records before it had one."""
        while self._requests and self._requests[0] <= self.count - self._records:
            self._requests.popleft()
        if len(self._requests) >= self._most:
            return False
        self._requests.append(self.count)
        return True

    @property
    def requests(self) -> list[int]:
        """The numbers of the records that it granted, as far as they still count."""
        return list(self._requests)


class Asking:
    """Asks for the labels of some records of a partition.

    Parameters
    ----------
    sampler
        Decides by the features that the last step of the learner sees, and by the score. It learns nothing.
    at_most
        The bound of `Budget`.
    all_wait
        Whether records wait for their label that were not asked for.
    asked
        How far it has come; None for a new one.
    fields
        Turns the bytes of a record into what a query shows of it; default: the bytes are a JSON object, and stay so.
    """

    def __init__(
        self,
        sampler: Any,
        at_most: tuple[int, int],
        all_wait: bool,
        asked: Asked | None = None,
        fields: Callable[[bytes], Any] = orjson.Fragment,
    ) -> None:
        self.all_wait, self._sampler, self._fields = all_wait, sampler, fields
        self._budget = Budget(*at_most, *(asked[2:] if asked else ()))
        if asked is not None:
            self._go_to(asked)

    def _go_to(self, asked: Asked) -> None:
        name = type(self._sampler).__name__
        if asked.sampler != name:
            log.warning("the sampler of `queries` was `%s` and is now `%s`, which begins anew", asked.sampler, name)
            return
        try:
            self._sampler.go_to(asked.position)
        except (LookupError, TypeError, ValueError) as error:
            raise BadState(f"the position of the sampler `{name}` cannot be read: {error}") from error

    @property
    def asked(self) -> Asked:
        """How far sampler and budget have come."""
        budget = self._budget
        return Asked(type(self._sampler).__name__, self._sampler.position, budget.count, budget.requests)

    def ask(self, record: Record, model: PartitionModel, counts: Counts) -> Query | None:
        """Return the query for a record that was predicted and has no label, or None if its label is not worth it."""
        self._budget.count_one()
        learner, features = model.learner, model.features_of(record)
        seen = learner.transform_one(features) if isinstance(learner, compose.Pipeline) else features
        try:
            is_worth_it = self._sampler.query_scored(seen, 0.0 if record.score is None else record.score)
        except (TypeError, OverflowError):  # before its first label, a learner may predict what it could not learn
            is_worth_it = False
        if not is_worth_it:
            return None
        value = self._said(record)
        if value is None or not self._budget.grants():
            self._sampler.withdraw()
            counts.withheld += 1
            return None
        counts.queries += 1
        return Query(record, value, model.snapshot)

    def _said(self, record: Record) -> bytes | None:
        """Return the value of a query; None if the record is nested more deeply than JSON is written."""
        assert record.value is not None
        said = {"id": record.id, "prediction": record.prediction, "score": record.score}
        try:
            return orjson.dumps(said | {"record": self._fields(record.value)}, option=ANY_KEYS)
        except TypeError:
            return None
