"""The models of a partition, by the file and the snapshot: who is the champion, who are the challengers.

A snapshot with challengers holds the model of the champion, and those of the others as parts, each a snapshot of its
own. Their names keep them apart, so that they can exchange their roles in the file.
"""

import contextlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from connectors.config.schema import AnyConfig
from connectors.errors import StateError
from connectors.model.contest import ContestModel
from connectors.model.partition_model import PartitionModel
from connectors.model.standings import Contest, Standings, contest_of
from connectors.snapshots.check_learner import check_learner
from river_margins import snapshot


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
    """

    data: Mapping[str, bytes]
    changes: Mapping[str, snapshot.Changes]
    contest: Contest | None
    dropped: list[str]
    new: list[str]

    @property
    def made(self) -> list[str]:
        """A phrase for each parameter that changes with the next snapshot, and for each model that comes or goes."""
        found = []
        for place, (name, changes) in enumerate(self.changes.items()):
            found += [f"`{name}` {phrase}" if place else phrase for phrase in changes.made]
        found += [f"the challenger `{name}` is new" for name in self.new]
        return [*found, *(f"the model `{name}` is dropped, as the file does not name it" for name in self.dropped)]


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


def find(config: AnyConfig, data: bytes, named: str, start_over: str) -> Found:
    """Return the models of a snapshot by the names of the file. Raise StateError if one is not that of the file.

    `named` and `start_over` are for messages, as in `check_learner`.
    """
    champion, learners = config.champion, config.build_learners()
    try:
        models, contest = split(data, champion)
    except snapshot.SnapshotError as error:
        raise StateError(f"{named} cannot be read: {error}; {start_over}") from error
    if champion not in models:
        there = ", ".join(f"`{name}`" for name in models)
        raise StateError(
            f"{named} has no model `{champion}`, it has {there}: a learner becomes `learner` after it was one of the "
            f"`challengers`; put `learner` back as it was, or {start_over}"
        )
    changes = {}
    for name, learner in learners.items():
        if name in models:
            which, key = (named, "learner") if name == champion else (f"`{name}` in {named}", f"challengers.{name}")
            changes[name] = check_learner(learner, config.record, models[name], which, start_over, key)
    dropped = [name for name in models if name not in learners]
    new = [name for name in learners if name not in models]
    return Found({name: models[name] for name in changes}, changes, contest, dropped, new)


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
    """

    def __init__(
        self,
        config: AnyConfig,
        read: Callable[[str], bytes],
        decode: Callable[..., None],
        can_replay: bool = False,
        named: Callable[[str], AbstractContextManager[None]] = lambda name: contextlib.nullcontext(),
    ) -> None:
        self._config, self._read, self._decode, self._can_replay = config, read, decode, can_replay
        self._named = named

    def start(self) -> PartitionModel:
        """Return the models with which a partition begins."""
        learners = self._config.first_learners()
        return self._model("", learners, dict.fromkeys(learners, 0), {}, Standings())

    def restore(self, name: str, examples: int, found: Found) -> PartitionModel:
        """Return the models of a snapshot by its name, with those that it does not have yet.

        `examples` is how many examples the model has learned that the snapshot holds itself. Raise SnapshotError.
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
        return self._model(name, learners, examples_of, changes, standings)

    def _model(
        self,
        saved: str,
        learners: Mapping[str, Any],
        examples: Mapping[str, int],
        changes: Mapping[str, Callable[[Any], None]],
        standings: Standings,
    ) -> PartitionModel:
        config, decode, champion = self._config, self._decode, self._config.champion
        first = learners[champion], saved, examples[champion], self._loader(champion), decode
        change, explain = changes.get(champion), config.output.explain  # type: ignore[attr-defined]
        if not config.challengers:
            return PartitionModel(*first, self._can_replay, change, explain)
        challengers = {
            name: PartitionModel(
                learners[name], saved, examples[name], self._loader(name), decode, change=changes.get(name)
            )
            for name in config.challengers
        }
        is_told = config.output.challengers  # type: ignore[attr-defined]
        return ContestModel(
            *first, change, explain, name=champion, challengers=challengers, standings=standings, is_told=is_told
        )

    def _loader(self, name: str) -> Callable[[str], Any]:
        """Return what loads one model of a snapshot; a model that is not in it had learned nothing then."""

        def load(saved: str) -> Any:
            data = self._read(saved)
            with self._named(saved):
                models, _ = split(data, self._config.champion)
                return snapshot.loads(models[name]) if name in models else self._config.first_learners()[name]

        return load
