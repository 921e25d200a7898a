"""What can end a processor, as exceptions that know their exit code.

ConnectorError                1
├── ConfigError               2
├── StartError                3
├── StateError                4
├── FencedError               5
├── AccessError               6
├── StalledError              7
└── CommitTimeoutError        8
"""


class ConnectorError(Exception):
    """anything unexpected"""

    exit_code = 1


class ConfigError(ConnectorError):
    """the YAML file is wrong"""

    exit_code = 2


class StartError(ConnectorError):
    """the world is not as the file says: broker, topic, folder, input file"""

    exit_code = 3


class StateError(ConnectorError):
    """committed offset or checkpoint, snapshot, files and learner do not fit together"""

    exit_code = 4


class FencedError(ConnectorError):
    """another process with the same transactional id keeps taking over"""

    exit_code = 5


class AccessError(ConnectorError):
    """the broker refuses: a password is wrong, or a permission is missing"""

    exit_code = 6


class StalledError(ConnectorError):
    """resets in a row without progress"""

    exit_code = 7


class CommitTimeoutError(ConnectorError):
    """a commit did not end in time (its outcome is unknown, the next start reads it)"""

    exit_code = 8


def exit_codes() -> dict[int, str]:
    """Returns what each exit code means.

    >>> exit_codes()[2]
    'the YAML file is wrong'
    """
    kinds = [kind for kind in globals().values() if isinstance(kind, type) and issubclass(kind, ConnectorError)]
    return {kind.exit_code: kind.__doc__ or "" for kind in kinds}
