"""Challengers that read the input from its beginning, in threads of their own, before they take part.

Each reads its partition up to the committed offset, and follows that offset. With the next commit it takes part, after
it has learned what the champion has learned since. So it is the model of one that has learned all records of the topic.
"""

import contextlib
import functools
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping

from connectors.kafka import ClientError, Reader
from connectors.kafka import Record as KafkaRecord
from connectors.model.contest import ContestModel
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Record
from connectors.model.rejects import Reject
from connectors.topics.partition import Partition
from river_margins import snapshot

log = logging.getLogger(__name__)

HELD = 1000  # examples that are held in memory at most, to undo a failure
SLICE, PAUSE = 0.001, 0.001  # seconds of work, and of sleep after it: else the loop would wait for Python's lock
RETRY = 5.0  # seconds before another attempt after an error of the client
SAY_EVERY = 60.0  # seconds between two lines of the log

MakeReader = Callable[[int, int], Reader]


class NewChallengers:
    """The challengers that read the input from its beginning.

    Parameters
    ----------
    topic
        The input.
    make_reader
        Returns a reader of a partition from an offset.
    """

    def __init__(self, topic: str, make_reader: MakeReader) -> None:
        self._topic, self._make_reader = topic, make_reader
        self._found: dict[tuple[int, str], _NewChallenger] = {}

    def follow(self, partitions: Mapping[int, Partition], owned: Collection[int]) -> None:
        """Let each awaited challenger learn up to the committed offset of its partition, and no others.

        One whose partition is being loaded again goes on.
        """
        wanted = {
            (number, name): (make, partition.committed.offset)
            for number, partition in partitions.items()
            if isinstance(partition.model, ContestModel)
            for name, make in partition.model.awaited.items()
        }
        for key, found in list(self._found.items()):
            is_loading = key[0] in owned and key[0] not in partitions
            if found.position > wanted[key][1] if key in wanted else not is_loading:
                found.end()
                del self._found[key]
        for key, (make, offset) in wanted.items():
            if key not in self._found:
                self._found[key] = _NewChallenger(self._topic, *key, make(), self._make_reader)
            self._found[key].aim(offset)

    def ready(self, partitions: Mapping[int, Partition]) -> dict[int, list[str]]:
        """Return the challengers that can take part with the next commit, by partition.

        After a drift the champion does not hold all that it has learned since the last commit. During a replay it is
        not yet the model of the committed offset.
        """
        found: dict[int, list[str]] = {}
        for (number, name), challenger in self._found.items():
            partition = partitions.get(number)
            if partition is None or partition.model.has_drifted or partition.is_replaying:
                continue
            is_awaited = isinstance(partition.model, ContestModel) and name in partition.model.awaited
            if is_awaited and challenger.learned_to == partition.committed.offset:
                found.setdefault(number, []).append(name)
        return found

    def join(self, name: str, number: int, partition: Partition) -> None:
        """Let a challenger take part that is `ready`. It stays here until that is committed."""
        model, found = partition.model, self._found[number, name]
        assert isinstance(model, ContestModel)
        model.join(name, snapshot.dumps(found.model.learner), found.model.examples)
        log.info(
            "the challenger `%s` takes part in partition %d of `%s`: it has learned %d records before offset %d",
            name, number, self._topic, found.model.examples, partition.committed.offset,
        )  # fmt: skip

    def close(self) -> None:
        """End all threads, and wait for none."""
        for found in self._found.values():
            found.end()
        self._found.clear()


class _NewChallenger:
    """A challenger of one partition, with its thread.

    Attributes
    ----------
    model
        The model. Only the thread touches it, except while it waits.
    position
        The offset of the next record to learn.
    learned_to
        The offset that it learns up to, while it waits there with all records before it learned; else an earlier one.
    """

    def __init__(self, topic: str, number: int, name: str, model: PartitionModel, make_reader: MakeReader) -> None:
        self.model, self.position, self.learned_to = model, 0, -1
        self._place, self._source = f"partition {number} of `{topic}`", f"{topic}-{number}-"
        self._number, self._name, self._make_reader = number, name, make_reader
        self._target, self._aimed, self._ended = 0, threading.Event(), threading.Event()
        self._refused, self._pause_at, self._say_at = 0, 0.0, 0.0
        threading.Thread(target=self._run, name=f"challenger-{name}-{number}", daemon=True).start()

    def aim(self, offset: int) -> None:
        """Learn all records before this offset."""
        if offset != self._target:
            self._target = offset
            self._aimed.set()

    def end(self) -> None:
        """Let the thread end."""
        self._ended.set()
        self._aimed.set()

    def _run(self) -> None:
        self._hold()
        while not self._ended.is_set():
            try:
                with contextlib.closing(self._make_reader(self._number, self.position)) as reader:
                    self._read(reader)
            except (ClientError, OSError) as error:  # OSError: of a schema registry
                log.warning("the challenger `%s` reads %s again in %g s: %s", self._name, self._place, RETRY, error)
                self._ended.wait(RETRY)
            except Exception:
                log.exception("the challenger `%s` does not take part in %s before a restart", self._name, self._place)
                return

    def _read(self, reader: Reader) -> None:
        while not self._ended.is_set():
            for record in reader.read_some():
                self._wait_before(record[1])
                if self._ended.is_set():
                    return
                self._learn(record)
                self.position = record[1] + 1
            self._wait_before(reader.position)

    def _wait_before(self, offset: int) -> None:
        """Wait as long as no record from this offset on is to be learned; all before it are learned."""
        while not self._ended.is_set() and offset >= (target := self._target):
            self._aimed.clear()
            if target == self._target and not self._ended.is_set():  # else it was set right before `clear`
                self.learned_to = target
                self._aimed.wait()

    def _learn(self, read: KafkaRecord) -> None:
        _, offset, key, value, _, _ = read
        record = Record(f"{self._source}{offset}", key, value)
        try:
            self.model.decode(record)
            if record.label is not None and record.known is None:
                self.model.learn(record)
        except Reject:
            self._refused += 1
        if len(self.model.learned) >= HELD:
            self._hold()
        if (now := time.monotonic()) >= self._pause_at:
            self._say(now)
            time.sleep(PAUSE)
            self._pause_at = time.monotonic() + SLICE

    def _hold(self) -> None:
        """Keep the present model, to go back to it after a failure."""
        self.model.begin(functools.partial(snapshot.loads, snapshot.dumps(self.model.learner)), self.model.examples)

    def _say(self, now: float) -> None:
        if now >= self._say_at:
            self._say_at = now + SAY_EVERY
            log.info(
                "the challenger `%s` reads %s, now at offset %d of %d: %d records learned, %d refused",
                self._name, self._place, self.position, self._target, self.model.examples, self._refused,
            )  # fmt: skip
