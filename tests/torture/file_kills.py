"""Kills a processor between files again and again: `python file_kills.py CONFIG KILLS SEED`, which prints what it did.

With a fourth argument, each child dies by its own hand within so many records, and not before half of them.

Each start is a forked child, so that hundreds take seconds. Half of them die at a chosen call that makes something
durable: before it, after it, or half-way through a write. The others get a kill -9 from the parent after a random time.
The first child that comes to the end is the last.
"""

import logging
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from connectors import config
from connectors.files import byte_streams
from connectors.files import processor as files
from connectors.labels import late_learning

MOMENTS = ("before", "half", "after")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Trap:
    """Dies at the n-th write to the output or the n-th call that makes something durable: before, half-way or after."""

    def __init__(self, number: int, moment: str, is_write: bool) -> None:
        self._left, self._moment = number, moment
        if is_write:
            byte_streams.Sink._add = self._wrapped(byte_streams.Sink._add, half=_add_half)  # type: ignore[method-assign]
        else:
            os.fsync, os.replace = self._wrapped(os.fsync), self._wrapped(os.replace)

    def _wrapped(self, call: Callable[..., Any], half: Callable[..., None] | None = None) -> Any:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left == 0 and self._moment == "before":
                die()
            if self._left == 0 and self._moment == "half" and half is not None:
                half(*arguments)
                die()
            result = call(*arguments, **options)
            if self._left == 0:
                die()
            return result

        return wrapped


def _add_half(sink: byte_streams.Sink, content: bytes) -> None:
    sink._file.write(content[: len(content) // 2])
    sink._file.flush()


def slow_down(records: int = 0) -> None:
    """Bounds the records between two kills on any machine: none has to be fast or slow for this.

    With `records`, dies after so many.
    """
    process_record, left = files.process_record, iter(range(records))

    def slowly(*arguments: Any) -> None:
        time.sleep(1e-4)
        process_record(*arguments)
        if records and next(left, None) is None:
            die()

    files.process_record = late_learning.process_record = slowly  # type: ignore[assignment]


def child(settings: config.FileConfig, trap: tuple[int, str, bool] | None, is_last: bool, records: int = 0) -> int:
    process = os.fork()
    if process == 0:
        try:
            if not is_last:
                slow_down(records)
            if trap:
                Trap(*trap)
            files.run(settings)
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    return process


def main(path: str, kills: int, seed: int, records: int = 0) -> None:
    logging.disable()
    settings = config.load(path)
    assert isinstance(settings, config.FileConfig)
    chance = random.Random(seed)
    durable = iter([(number, moment, False) for number in range(1, 16) for moment in ("before", "after")])
    killed = 0
    while True:
        moment = chance.choice(MOMENTS)
        write, sync = (chance.randrange(1, 300), moment, True), (chance.randrange(16, 40), moment, False)
        trap = next(durable, None) or chance.choice([write, write, sync])
        is_left_alone = killed >= kills
        is_trapped = not is_left_alone and not records and (killed < 30 or killed % 2 == 0)
        end = chance.randrange(records // 2, records) if records else 0
        process = child(settings, trap if is_trapped else None, is_left_alone, end)
        if not is_left_alone and not is_trapped and not records:
            time.sleep(chance.uniform(0, 0.03))
            os.kill(process, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if code != -signal.SIGKILL:
            break
        killed += 1
    print(f"killed {killed} times, then exit code {code}", file=sys.stderr, flush=True)
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
