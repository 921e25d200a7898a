from collections.abc import Iterator

import pytest

from tests.helpers import registry as module


@pytest.fixture(scope="session")
def registry() -> Iterator[str]:
    """The URL of one real schema registry for the session."""
    try:
        module.folder()
    except module.NoRegistry as error:
        pytest.skip(str(error))
    with module.running() as url:
        yield url
