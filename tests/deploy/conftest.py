from tests.helpers.fixtures import client, hang, log  # noqa: F401
