from tests.helpers.fixtures import client, hang, log, older_kafka  # noqa: F401
