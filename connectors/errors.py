"""What can end a processor, as exceptions that know their exit code.

    ConnectorError                1   anything unexpected
    ├── ConfigError               2   the YAML file is wrong
    ├── StartError                3   the world is not as the file says: broker, topic, folder, permission to write
    ├── StateError                4   committed offset, snapshot and learner do not fit together
    ├── FencedError               5   another process with the same transactional id keeps taking over
    ├── AccessError               6   the broker refuses for lack of a permission
    ├── StalledError              7   resets in a row without progress
    └── CommitTimeoutError        8   a commit did not end in time (its outcome is unknown, the next start reads it)
"""


class ConnectorError(Exception):
    exit_code = 1


class ConfigError(ConnectorError):
    exit_code = 2


class StartError(ConnectorError):
    exit_code = 3


class StateError(ConnectorError):
    exit_code = 4


class FencedError(ConnectorError):
    exit_code = 5


class AccessError(ConnectorError):
    exit_code = 6


class StalledError(ConnectorError):
    exit_code = 7


class CommitTimeoutError(ConnectorError):
    exit_code = 8
