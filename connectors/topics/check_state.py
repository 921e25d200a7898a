"""Checks of what a processor left behind: offsets, snapshots and learner of each partition must fit together.

All partitions are checked, as far as each goes, so that one repair can mend everything. The checks change nothing,
except that they make the folder of the snapshots.
"""

import concurrent.futures
import contextlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from connectors.config import Config
from connectors.errors import ConnectorError, StartError, StateError
from connectors.kafka import ClientError, Committed, Consumer, NotPermitted, client
from connectors.snapshots.stores import THREADS, StoreError
from connectors.topics import event_time, startup
from connectors.topics.findings import Finding
from connectors.topics.restore import Restorer

ATTEMPTS = 5  # for a partition whose committed offset moves while it is checked

NUMBERS = re.compile(r"[0-9a-f]{8,}|[0-9]+")  # in which the problems of several partitions differ

# Those of another partition name its own offset and snapshot.
COMMANDS = re.compile(r"`river-margins snapshots (?:rewind|export) [^`]*`")

Progress = Callable[[int, int], None]


def check_state(config: Config, progress: Progress | None = None) -> Iterator[Finding]:
    """Yield what would end a processor, or pause a partition, because of what an earlier run left.

    Parameters
    ----------
    config
        The processor's file.
    progress
        Called with the numbers of partitions checked and of all.
    """
    try:
        startup.check_store(config)
    except StartError as error:
        yield Finding(str(error), StartError)  # and what can be read is checked all the same
    module, settings = client(config.kafka.client), config.kafka.consumer_settings
    try:
        topics = [name for role, name in config.topics.items() if role in ("input", "labels")]
        cluster = module.describe(topics, settings, startup.BROKER_WAIT)
        if any(topic not in cluster.topics for topic in topics):
            return  # found by the checks of topics
        restorer = startup.restorer_of(config, cluster)
        consumer = module.Consumer(config.input.topic, config.name, settings, labels=config.topics.get("labels"))
        try:
            yield from _CheckState(config, consumer, restorer).findings(progress or (lambda done, of: None))
        finally:
            consumer.close(5.0)
    except NotPermitted:
        return  # found by the checks of permissions
    except StoreError:
        return  # found by `check_store`: a package that connects at once fails before anything is read
    except ClientError as error:
        yield Finding(f"offsets and snapshots cannot be checked: {error}", None)


class _CheckState:
    def __init__(self, config: Config, consumer: Consumer, restorer: Restorer) -> None:
        self._consumer, self._restorer = consumer, restorer
        self._seconds = config.kafka.timeouts[1]
        self._changes: set[str] = set()
        self._notes: set[str] = set()
        self._before = restorer.topic.partitions

    def findings(self, progress: Progress) -> Iterator[Finding]:
        """Check all partitions, and yield a finding for each kind of problem."""
        numbers = range(self._restorer.topic.partitions)
        committed = self._committed(numbers)
        self._before = self._restorer.partitions_before(committed.values())
        if None in committed.values():  # else all have begun, and some process has not told it yet
            try:
                self._restorer.check_growth(self._before)
            except StateError as error:
                yield Finding(str(error), StateError)
        problems = self._check(committed, progress)
        for _ in range(ATTEMPTS - 1):  # a processor that runs deletes the snapshots that it has superseded
            now = self._committed([number for number, found in problems.items() if found])
            moved = {number: found for number, found in now.items() if found != committed[number]}
            if not moved:
                break
            committed |= moved
            problems |= self._check(moved, lambda done, of: None)
        yield from _grouped(problems)
        for change in sorted(self._changes):
            yield Finding(f"the learner changes with the next snapshot of each partition: {change}", None)
        for note in sorted(self._notes):
            yield Finding(note, None)

    def _committed(self, numbers: Iterable[int]) -> dict[int, Committed | None]:
        return self._consumer.committed(numbers, self._seconds)

    def _check(self, committed: Mapping[int, Committed | None], progress: Progress) -> dict[int, list[ConnectorError]]:
        # Fewer labels' partitions are a finding of their own, and a client waits 30 s for one that is not there.
        labels = self._restorer.labels.partitions if self._restorer.labels else 0
        numbers = [*committed, *(~number for number in committed if number < labels)]
        edges = {number: self._consumer.offset_range(number) for number in numbers}
        problems = {}
        with concurrent.futures.ThreadPoolExecutor(THREADS, thread_name_prefix="check") as threads:
            checks = {threads.submit(self._problems, n, found, edges): n for n, found in committed.items()}
            for done, each in enumerate(concurrent.futures.as_completed(checks), 1):
                problems[checks[each]] = each.result()
                progress(done, len(checks))
        return problems

    def _problems(
        self, number: int, committed: Committed | None, edges: Mapping[int, tuple[int, int]]
    ) -> list[ConnectorError]:
        """Return what is wrong with a partition. This runs in threads, and asks only the store."""
        restorer, found = self._restorer, list[ConnectorError]()
        with _collected(found, number):
            restorer.store.check_partition(number)
        with _collected(found, number):
            if committed is None:
                restorer.check_start(number)
                restorer.check_former(number, self._before)
                if elsewhere := restorer.stored.elsewhere(number):
                    self._notes.add(elsewhere)
                if changes := restorer.config.first_changes():
                    self._notes.add(changes)
                return found
            metadata = restorer.check_metadata(number, committed)
            with _collected(found, number):
                restorer.check_offset(number, metadata, edges.__getitem__)
            models, waiting = restorer.check_snapshot(number, metadata)
            if waiting is not None and (said := event_time.ahead(restorer.config, number, waiting.records.time)):
                self._notes.add(said)
            self._changes.update(models.made)
            if changes := restorer.config.first_changes(models.new):
                self._notes.add(changes)
        return found


@contextlib.contextmanager
def _collected(found: list[ConnectorError], number: int) -> Iterator[None]:
    try:
        yield
    except StateError as error:
        found.append(error)
    except OSError as error:
        found.append(StartError(f"the snapshots of partition {number}: {error}"))


def _grouped(problems: Mapping[int, list[ConnectorError]]) -> Iterator[Finding]:
    """Yield the problem of the first partition of each kind, with the partitions for which it is the same."""
    kinds = defaultdict[str, list[tuple[int, ConnectorError]]](list)
    for number in sorted(problems):
        for error in problems[number]:
            kinds[NUMBERS.sub("#", str(error))].append((number, error))
    for (_, error), *others in kinds.values():
        # By partition: in one list, what one of them may choose from looks like commands to give one after the other.
        commands = {n: [text for text in COMMANDS.findall(str(other)) if text not in str(error)] for n, other in others}
        by_partition = "; ".join(f"partition {n}: {', '.join(found)}" for n, found in commands.items() if found)
        own = f", with their own commands in place of those: {by_partition}" if by_partition else ""
        more = f" (the same for partition {runs_of(n for n, _ in others)}{own})" if others else ""
        yield Finding(f"{error}{more}", StateError if isinstance(error, StateError) else type(error))


def runs_of(numbers: Iterable[int]) -> str:
    """Return partition numbers as text, runs of them by their ends.

    >>> runs_of([1, 2, 3, 5, 7, 8])
    '1 to 3, 5, 7, 8'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
