"""The models of a partition, by the file and the snapshot: who is the champion, who are the challengers.

A snapshot with challengers holds the model of the champion, and those of the others as parts, each a snapshot of its
own. Their names keep them apart, so that they can exchange their roles in the file.
"""

import contextlib
import functools
import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from connectors.config.schema import AnyConfig
from connectors.config.value_types import PROBABILITY
from connectors.drift.watch import Drift, Plan, Watch, drift_of
from connectors.errors import StateError
from connectors.model.contest import ContestModel
from connectors.model.partition_model import PartitionModel
from connectors.model.standings import Contest, Standings, contest_of
from connectors.snapshots.check_learner import check_learner
from river_margins import snapshot

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Found:
    """The models of a snapshot that the file names, and what the log tells about it.

    Attributes
    ----------
    data
        The snapshot of each model, by name.
    changes
        The parameters that have changed, by name.
    contest
        What the snapshot tells about several models; None if it has one.
    dropped, new
        The names of models that the file does not have, and of those that the snapshot does not have.
    champion
        The name of the champion: that of `learner` in the file, or of the challenger that a drift has promoted.
    drift
        What the snapshot tells about the watch for drift; None if it has none.
    other_drift
        Phrases for what the file says of drift and the snapshot does not.
    """

    data: Mapping[str, bytes]
    changes: Mapping[str, snapshot.Changes]
    contest: Contest | None
    dropped: list[str]
    new: list[str]
    champion: str
    drift: Drift | None
    other_drift: list[str]

    @property
    def made(self) -> list[str]:
        """A phrase for each parameter that changes with the next snapshot, and for each model that comes or goes."""
        found = []
        for place, (name, changes) in enumerate(self.changes.items()):
            found += [f"`{name}` {phrase}" if place else phrase for phrase in changes.made]
        found += [f"the challenger `{name}` is new" for name in self.new]
        if self.contest is not None and self.champion not in ("", self.contest.champion):
            found.append(f"the champion is now `{self.champion}`, and no longer `{self.contest.champion}`")
        found += self.other_drift
        return [*found, *(f"the model `{name}` is dropped, as the file does not name it" for name in self.dropped)]

    def is_other_set(self, awaited: Collection[str]) -> bool:
        """Return whether the models of the file, but those that take part later, are others, or in other roles."""
        is_other_champion = self.contest is not None and self.champion not in ("", self.contest.champion)
        return is_other_champion or bool(self.dropped) or bool(set(self.new).difference(awaited))


def split(data: bytes, champion: str) -> tuple[dict[str, bytes], Contest | None]:
    """Return the snapshots of all models in one, by name, and what it tells about them. Raise SnapshotError.

    Parameters
    ----------
    data
        The bytes of a snapshot.
    champion
        The name of the learner in the file. A snapshot with one model is of that learner; so is the champion of any
        snapshot for a learner without a name.
    """
    about, parts = snapshot.beside(data)
    try:
        contest = contest_of(about)
    except ValueError as error:
        raise snapshot.SnapshotError(str(error)) from error
    if contest is None:
        return {champion: data}, None
    return {contest.champion if champion else "": data, **parts}, contest


def find(config: AnyConfig, data: bytes, named: str, start_over: str, replays: bool = False) -> Found:
    """Return the models of a snapshot by the names of the file. Raise StateError if one is not that of the file.

    The other parameters are those of `check_learner`.
    """
    champion, learners = config.champion, config.build_learners()
    try:
        models, contest = split(data, champion)
        drift = drift_of(snapshot.beside(data)[0])
    except ValueError as error:  # of which SnapshotError is one
        raise StateError(f"{named} cannot be read: {error}; {start_over}") from error
    if champion not in models:
        there = ", ".join(f"`{name}`" for name in models)
        raise StateError(
            f"{named} has no model `{champion}`, it has {there}: add the new learner to `challengers` first, and "
            f"exchange them later; put `learner` back as it was, or {start_over}"
        )
    changes, whose = {}, named
    if contest is not None and not champion:
        there = ", ".join(f"`{name}`" for name in models if name)
        whose = f"`{contest.champion}` in {named.removesuffix(',')}, its champion (it has {there}, too: for one of them"
        whose += ", write its name in `learner`)"
    for name, learner in learners.items():
        if name in models:
            which, key = (whose, "learner") if name == champion else (f"`{name}` in {named}", f"challengers.{name}")
            changes[name] = check_learner(learner, config.record, models[name], which, start_over, key, replays=replays)
    dropped = [name for name in models if name not in learners]
    new = [name for name in learners if name not in models]
    plan = config.drift_plan
    found = {name: models[name] for name in changes}
    who = champion_of(config, contest, drift)
    return Found(found, changes, contest, dropped, new, who, drift, _other_drift(drift, plan))


def champion_of(config: AnyConfig, contest: Contest | None, drift: Drift | None) -> str:
    """Return the name of the champion of a snapshot: who was promoted by a drift stays it until the file changes."""
    promoted = config.drift.then[1] if config.drift else ""
    if not promoted or contest is None or drift is None:
        return config.champion
    is_promoted = (contest.champion, drift.past.instead_of) == (promoted, config.champion)
    return promoted if is_promoted else config.champion


def _other_drift(drift: Drift | None, plan: Plan | None) -> list[str]:
    """Return phrases for what the file says of drift and the snapshot does not."""
    if plan is None:
        return [] if drift is None else ["the loss is no longer watched for drift"]
    if drift is None:
        return [f"the drift detector {plan.named} is new"]
    found = []
    if drift.plan.named != plan.named:
        found.append(f"the drift detector was {drift.plan.named} and is now {plan.named}, which begins anew")
    if drift.plan.action != plan.action:
        found.append(f"a drift now leads to `{plan.action}`, and no longer to `{drift.plan.action}`")
    return found


class Builder:
    """Builds the models of a partition.

    Parameters
    ----------
    config
        The processor's file.
    read
        Returns the bytes of a snapshot by its name.
    decode, can_replay
        As for `PartitionModel`.
    named
        Turns a SnapshotError about a snapshot into one that names it.
    place
        Returns the `extra` of a log line about a record by its source.
    """

    def __init__(
        self,
        config: AnyConfig,
        read: Callable[[str], bytes],
        decode: Callable[..., None],
        can_replay: bool = False,
        named: Callable[[str], AbstractContextManager[None]] = lambda name: contextlib.nullcontext(),
        place: Callable[[str], Mapping[str, Any] | None] = lambda source: None,
    ) -> None:
        self._config, self._read, self._decode, self._can_replay = config, read, decode, can_replay
        self._named, self._place = named, place

    def start(self) -> PartitionModel:
        """Return the models with which a partition begins."""
        learners = self._config.first_learners()
        watch = self._watch(self._config.drift_plan)
        return self._model("", learners, dict.fromkeys(learners, 0), {}, Standings(), self._config.champion, watch)

    def restore(self, name: str, examples: int, found: Found, replays: bool = False) -> PartitionModel:
        """Return the models of a snapshot by its name, with those that it does not have yet.

        `examples` is how many examples the model has learned that the snapshot holds itself. `replays` tells that
        inputs since then are read again, also if the file has no `snapshots.every` any more. Raise SnapshotError.
        """
        counts, standings = {self._config.champion: examples}, Standings()
        if found.contest is not None:
            standings = found.contest.standings
            counts = counts | found.contest.examples
            if not self._config.champion:
                counts[""] = examples
        firsts = self._config.first_learners() if found.new else {}
        learners = {
            each: snapshot.loads(found.data[each]) if each in found.data else firsts[each]
            for each in [self._config.champion, *self._config.challengers]
        }
        standings.keep(frozenset(found.data))
        examples_of = {each: counts.get(each, 0) if each in found.data else 0 for each in learners}
        changes = {each: changes.apply for each, changes in found.changes.items() if changes.made}
        if found.champion != self._config.champion and found.drift is not None:
            log.warning(
                "`%s` is the champion since the drift at %s, and the file still names `%s` as `learner`: exchange both",
                found.champion, found.drift.past.last, self._config.champion,
            )  # fmt: skip
        elif found.drift is not None:
            found.drift.past.instead_of = ""
        watch = self._watch(self._config.drift_plan, found.drift)
        first, is_put_off = watch, (self._can_replay or replays) and bool(found.other_drift)
        if is_put_off:  # inputs that are read again were learned under the watch of the snapshot
            first = self._watch(found.drift.plan, found.drift) if found.drift else None
        awaited = [each for each in found.new if self._config.challengers[each].reads_input]
        model = self._model(name, learners, examples_of, changes, standings, found.champion, first, awaited)
        if is_put_off:
            model.change_watch(watch)
        model.is_other_set = found.is_other_set(awaited)
        return model

    def _watch(self, plan: Plan | None, drift: Drift | None = None) -> Watch | None:
        return None if plan is None else Watch(plan, self._untrained, self._place, drift)

    def _untrained(self, name: str) -> Any:
        return self._config.build_learners()[name or self._config.champion]

    def _model(
        self,
        saved: str,
        learners: Mapping[str, Any],
        examples: Mapping[str, int],
        changes: Mapping[str, Callable[[Any], None]],
        standings: Standings,
        champion: str,
        watch: Watch | None,
        awaited: Collection[str] = (),
    ) -> PartitionModel:
        config, decode = self._config, self._decode
        first = learners[champion], saved, examples[champion], self._loader(champion), decode
        change, explain = changes.get(champion), config.output.explain  # type: ignore[attr-defined]
        probability = self._tells_probability
        if not config.challengers:
            return PartitionModel(*first, self._can_replay, change, explain, watch, champion, probability)
        challengers = {
            name: PartitionModel(
                learners[name], saved, examples[name], self._loader(name), decode, change=changes.get(name),
                probability=probability,
            )
            for name in (config.champion if name == champion else name for name in config.challengers)
            if name not in awaited
        }  # fmt: skip
        is_told = config.output.challengers  # type: ignore[attr-defined]
        return ContestModel(
            *first, change, explain, name=champion, challengers=challengers, standings=standings, is_told=is_told,
            watch=watch, awaited={name: functools.partial(self._new, name, saved) for name in awaited},
            probability=probability,
        )  # fmt: skip

    @property
    def _tells_probability(self) -> bool:
        return bool(self._config.output.score == PROBABILITY)  # type: ignore[attr-defined]

    def _new(self, name: str, saved: str) -> PartitionModel:
        model, load = self._untrained(name), self._loader(name)
        return PartitionModel(model, saved, 0, load, self._decode, probability=self._tells_probability)

    def _loader(self, name: str) -> Callable[[str], Any]:
        """Return what loads one model of a snapshot; a model that is not in it had learned nothing then."""

        def load(saved: str) -> Any:
            data = self._read(saved)
            with self._named(saved):
                models, _ = split(data, self._config.champion)
                return snapshot.loads(models[name]) if name in models else self._config.first_learners()[name]

        return load
