"""What the folder of the snapshots tells of a partition for which nothing is committed."""

import concurrent.futures
import re
from dataclasses import dataclass

from connectors.config import Config
from connectors.snapshots.names import SnapshotName
from connectors.snapshots.stores import THREADS, Store, open_store


@dataclass(frozen=True)
class Stored:
    """The snapshots of a group in `store`, and those of other topics and clusters beside it."""

    config: Config
    store: Store

    def written(self, partition: int) -> list[tuple[str, SnapshotName]]:
        """Return all snapshots of a partition, with what their names tell, in the order in which they were written."""
        return _written(self.store, partition)

    def learned(self, partition: int) -> list[str]:
        """Return those of models that have read a record."""
        return _learned(self.store, partition)

    def count_begun(self, partitions: int) -> int:
        """Return how many of the partitions have begun; all if none has learned, as before a first start."""
        # side by side: most of the time, that of an object store, is waiting, and a member must poll
        with concurrent.futures.ThreadPoolExecutor(THREADS, thread_name_prefix="begun") as threads:
            written = list(threads.map(self.written, range(partitions)))
        has_learned = any(not name.is_empty for found in written for _, name in found)
        return max(n for n, found in enumerate(written) if found) + 1 if has_learned else partitions

    def former(self, partition: int) -> str | None:
        """Return where models of a former topic of this name lie, if it had learned ones in this partition."""
        for store in self.store.beside():
            if self._is_of_input(store) and _learned(store, partition):
                return store.folder
        return None

    def elsewhere(self, partition: int) -> str | None:
        """Return a sentence about models of another cluster or input, with which a new model does not begin."""
        if self.config.start_from is not None:
            return None
        for cluster in open_store(self.store.folder.rpartition("/")[0]).beside():
            for store in open_store(cluster.folder, "any").beside():  # all that lies in the folder of the cluster
                if self._is_of_input(store) and _learned(store, partition):
                    return (
                        f"the models of `{self.config.input.topic}` at this Kafka cluster begin anew; those of another "
                        f"cluster lie in `{store.folder}`: to go on from them, see `Another Kafka cluster` in "
                        f"docs/operating.md"
                    )
        for store in self.store.beside():
            if not self._is_of_input(store) and _learned(store, partition):
                return (
                    f"the models of `{self.config.input.topic}` begin anew; those of another input lie in "
                    f"`{store.folder}`: to go on from them, see `Another input` in docs/operating.md"
                )
        return None

    def _is_of_input(self, store: Store) -> bool:
        of_topic = rf"{re.escape(self.config.input.topic)}-[0-9a-f-]{{36}}"
        return re.fullmatch(of_topic, store.folder.rpartition("/")[2]) is not None


def _learned(store: Store, partition: int) -> list[str]:
    # an empty model may come from a first start that died
    return [text for text, name in _written(store, partition) if not name.is_empty]


def _written(store: Store, partition: int) -> list[tuple[str, SnapshotName]]:
    # other files in the folder are not ours
    names = [(text, name) for text in store.sizes(partition) if (name := SnapshotName.parse(text))]
    return sorted(names, key=lambda found: (found[1].order, found[0]))
