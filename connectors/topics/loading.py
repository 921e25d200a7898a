"""Models on their way from the store: they are loaded in threads, while other partitions go on."""

import concurrent.futures
from collections.abc import Callable, Iterator, Mapping

from connectors.kafka import Committed
from connectors.model.partition import Partition

Restore = Callable[[int, Committed], Partition]
AT_ONCE = 4  # models; a slow one does not hold up the others
PATIENCE = 0.2  # seconds that all wait for models: most are there by then


class Loading:
    """The models that were asked for and not yet taken; false when there is none."""

    def __init__(self) -> None:
        self._asked: dict[int, tuple[Committed, concurrent.futures.Future[Partition]]] = {}
        self._threads = concurrent.futures.ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="restore")

    def __bool__(self) -> bool:
        return bool(self._asked)

    def ask(self, wanted: Mapping[int, Committed], restore: Restore) -> None:
        """Loads these and no others; what is on its way already is not asked for again."""
        before, self._asked = self._asked, {}
        for number, committed in wanted.items():
            if number in before and before[number][0] == committed:
                self._asked[number] = before[number]
            else:
                self._asked[number] = committed, self._threads.submit(restore, number, committed)

    def wait(self) -> None:
        """Waits a little for all of them."""
        concurrent.futures.wait([future for _, future in self._asked.values()], PATIENCE)

    def done(self) -> Iterator[tuple[int, Partition]]:
        """Hands out what has been loaded; raises what stood in the way."""
        for number, (_, future) in list(self._asked.items()):
            if future.done():
                del self._asked[number]
                yield number, future.result()

    def clear(self) -> None:
        self._asked = {}

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
