from tests.helpers.fixtures import client, count_frozen, hang, log, older_kafka  # noqa: F401
