"""A model with challengers: all of them predict and learn the same records, and the champion's prediction counts."""

import contextlib
import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from connectors.drift.watch import PROMOTE, RESET, Watch
from connectors.model.partition_model import PartitionModel, loss_of
from connectors.model.process_record import known_score
from connectors.model.records import Record, check_score
from connectors.model.rejects import Reject
from connectors.model.standings import Contest, Standings
from river_margins import snapshot


class ContestModel(PartitionModel):
    """The champion of a partition, with its challengers.

    The challengers predict and learn each record that the champion predicts and learns. What one of them refuses is
    counted, and changes nothing for the others.

    Parameters
    ----------
    learner, saved, examples, load, decode, change, explain, watch, probability
        Those of the champion, as for `PartitionModel`.
    name
        The name of the champion.
    challengers
        The other models, by name.
    standings
        How they did so far.
    is_told
        Whether an output tells the predictions of the challengers.
    awaited
        The challengers that do not take part before they have learned what was read earlier, by name, with what
        returns the model of each, untrained.

    Attributes
    ----------
    committed
        The standings at the last snapshot.
    """

    def __init__(
        self,
        learner: Any,
        saved: str,
        examples: int,
        load: Callable[[str], Any],
        decode: Callable[..., None],
        change: Callable[[Any], None] | None,
        explain: int,
        *,
        name: str,
        challengers: Mapping[str, PartitionModel],
        standings: Standings,
        is_told: bool,
        watch: Watch | None = None,
        awaited: Mapping[str, Callable[[], PartitionModel]] = MappingProxyType({}),
        probability: bool = False,
    ) -> None:
        self.name, self.standings, self._is_told, self.awaited = name, standings, is_told, awaited
        self.challengers: Mapping[str, PartitionModel] = {}
        self._asked = Record("", None, None)
        super().__init__(learner, saved, examples, load, decode, False, change, explain, watch, probability=probability)
        self.challengers = challengers

    @property
    def is_to_change(self) -> bool:
        return super().is_to_change or any(model.is_to_change for model in self.challengers.values())

    def prepare_snapshot(self) -> None:
        super().prepare_snapshot()
        for model in self.challengers.values():
            model.prepare_snapshot()

    def saved_as(self, snapshot: str) -> None:
        super().saved_as(snapshot)
        for model in self.challengers.values():
            model.saved_as(snapshot)
        self.committed = self.standings.life
        self.refused = {name: (each.features, each.labels) for name, each in self.standings.refused.items()}

    def dumps(self, about: Mapping[str, Any]) -> bytes:
        parts = {name: model.dumps(about) for name, model in self.challengers.items()}
        examples = {self.name: self.examples} | {name: model.examples for name, model in self.challengers.items()}
        contest = Contest(self.name, examples, self.standings)
        return snapshot.dumps(self.learner, {**self._with_drift(about), "contest": contest.value}, parts)

    def predict(self, record: Record) -> None:
        super().predict(record)
        answers: dict[str, tuple[Any, Any] | None] = {self.name: (record.prediction, record.score)}
        answers |= {name: self._answer(name, model, record) for name, model in self.challengers.items()}
        record.answers = answers
        record.challengers = self.told(answers)

    def told(self, answers: Mapping[str, Any]) -> dict[str, Any] | None:
        if not self._is_told:
            return None
        _, *others = answers.items()
        return {name: answer and {"prediction": answer[0], "score": answer[1]} for name, answer in others}

    def _answer(self, name: str, model: PartitionModel, record: Record) -> tuple[Any, Any] | None:
        """Return prediction and score of a challenger; None if it refuses the features."""
        asked = self._asked
        asked.features = record.features
        try:
            model.predict(asked)
            check_score(asked.score)
        except Reject:
            self.standings.of_refused(name).features += 1
            return None
        return asked.prediction, known_score(asked, record.label, model.first_score)

    def _learn(self, record: Record, is_late: bool) -> None:
        answers = record.answers or {}
        # A drift may have promoted the champion since it refused the features, as a challenger: the others learn them.
        if answers.get(self.name, ()) is None:
            self._check_label(record.label)
        else:
            super()._learn(record, is_late)
        if any(answers.values()):  # else they only tell who refused the features, and nothing is judged
            self.standings.judge(self._losses(answers, record.label))
        for name, model in self.challengers.items():
            if answers.get(name, ()) is None:  # it refused the features
                continue
            try:
                model.learn(record, is_late=is_late)
            except Reject:
                self.standings.of_refused(name).labels += 1

    def _losses(self, answers: Mapping[str, Any], label: Any) -> dict[str, float]:
        """Return the losses of the models that are still there; as in River, who predicts nothing yet is not judged."""
        losses = {}
        for name, answer in answers.items():
            if answer is None or answer[0] is None or (name != self.name and name not in self.challengers):
                continue
            losses[name] = loss_of(answer[0], label, self.is_regressor)
        return losses

    def _judged(self, record: Record) -> Any:
        """Return what the present champion said of a record; it may have been a challenger then."""
        answer = (record.answers or {}).get(self.name)
        return None if answer is None else answer[0]

    def _answer_drift(self, watch: Watch) -> str:
        champion, promoted = self.name, watch.plan.promotes
        if watch.plan.then == RESET:
            return f"`{champion}`: {super()._answer_drift(watch)}"
        if watch.plan.then != PROMOTE or promoted not in self.challengers:
            why = f", as `{promoted}` still reads the input" if promoted in self.awaited else ""
            return f"nothing was changed, `{champion}` stays the champion{why}"
        self.promote(promoted)
        watch.past.instead_of = champion
        return f"`{promoted}` becomes the champion instead of `{champion}`, and both go on learning"

    def join(self, name: str, data: bytes, examples: int) -> None:
        """Let an awaited challenger take part. Write a snapshot of the model then, before it learns more.

        Parameters
        ----------
        name
            The name of the challenger.
        data, examples
            A snapshot of its learner after all records up to that of the champion, and how many it has learned. Here it
            learns what the champion has learned since then; there must have been no drift meanwhile.
        """
        model = self.awaited[name]()
        model.begin(functools.partial(snapshot.loads, data), examples)
        for record in self.examples_since_snapshot():
            with contextlib.suppress(Reject):
                model.learn(record)
        self.challengers = {**self.challengers, name: model}
        self.awaited = {other: make for other, make in self.awaited.items() if other != name}

    def promote(self, name: str) -> None:
        """Exchange the roles of the champion and a challenger. Both keep what they have learned."""
        champion, model = self.name, self.challengers[name]
        self.exchange(model)
        self.name = name
        self.challengers = {champion if each == name else each: found for each, found in self.challengers.items()}
