import gc
import os
import signal
from collections.abc import Generator
from typing import Any

import hypothesis
import pytest

from tests.helpers.shares import Shares, longest_first

pytest_plugins = ["connectors.kafka.local.pytest_plugin"]

# Several processes share the cores, and the matrices of the tests are small: threads of BLAS would only wait for each
# other, which takes processor time. NumPy reads this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

hypothesis.settings.register_profile("suite", deadline=None)  # a slow example is a busy machine, not an error
hypothesis.settings.load_profile("suite")


# A shell that runs the suite in the background ignores Ctrl-C for it, and all processes of the tests inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In one of several processes, order the tests as the shares are handed out."""
    if hasattr(config, "workerinput"):
        items[:] = longest_first(items)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Shares:
    """Divide the suite among the processes of `-n`."""
    return Shares(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collect no garbage among tests that are only made, nor later: River's checks of memory do so twice each."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
