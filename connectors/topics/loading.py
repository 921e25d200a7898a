"""Models that are being loaded from the store, in threads, while other partitions go on."""

import concurrent.futures
from collections.abc import Callable, Iterator, Mapping

from connectors.kafka import Committed
from connectors.snapshots.stores import THREADS
from connectors.topics.partition import Partition

Restore = Callable[[int, Committed], Partition]
RESTORE_WAIT = 0.2  # seconds that all partitions wait for models; most are loaded by then


Requested = dict[int, tuple[Committed, concurrent.futures.Future[Partition]]]


def _cancel(requested: Requested) -> None:
    """Let no model be loaded that nobody waits for any more, unless that has begun."""
    for _, future in requested.values():
        future.cancel()


class Loading:
    """The models that were requested and not taken yet; false if there are none."""

    def __init__(self) -> None:
        self._requested: Requested = {}
        self._threads = concurrent.futures.ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="restore")

    def __bool__(self) -> bool:
        return bool(self._requested)

    @property
    def numbers(self) -> set[int]:
        """The partitions whose models are being loaded."""
        return set(self._requested)

    def request(self, wanted: Mapping[int, Committed], restore: Restore) -> None:
        """Load these models and no others. Those that are being loaded already are not requested again."""
        before, self._requested = self._requested, {}
        for number, committed in wanted.items():
            if number in before and before[number][0] == committed:
                self._requested[number] = before.pop(number)
        _cancel(before)
        for number, committed in wanted.items():
            if number not in self._requested:
                self.add(number, committed, restore)

    def add(self, number: int, committed: Committed, restore: Restore) -> None:
        """Load this model too."""
        self._requested[number] = committed, self._threads.submit(restore, number, committed)

    def wait(self) -> None:
        """Wait a little for all of them."""
        concurrent.futures.wait([future for _, future in self._requested.values()], RESTORE_WAIT)

    def take_finished(self) -> Iterator[tuple[int, Committed, Partition | Exception]]:
        """Yield the models that have been loaded, with their partition and offset, or why one could not be."""
        for number, (committed, future) in list(self._requested.items()):
            if future.done():
                del self._requested[number]
                error = future.exception()
                if error is not None and not isinstance(error, Exception):
                    raise error
                yield number, committed, error or future.result()

    def clear(self) -> None:
        """Forget all requests."""
        _cancel(self._requested)
        self._requested = {}

    def close(self) -> None:
        """Start no further loads, and wait for none."""
        self._threads.shutdown(wait=False, cancel_futures=True)
