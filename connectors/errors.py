"""The reasons for which a processor ends, as exceptions with an exit code.

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
    """An error for which no class below is meant.

    Attributes
    ----------
    exit_code
        The exit code of a command that ends with this error.
    meaning
        The meaning of the exit code, for `--help` and the documentation.
    """

    exit_code = 1
    meaning = "an unexpected error"


class ConfigError(ConnectorError):
    """A YAML file or an argument of a command is wrong."""

    exit_code = 2
    meaning = "the YAML file is wrong"


class StartError(ConnectorError):
    """A processor cannot start: what the file names is missing, or cannot be used."""

    exit_code = 3
    meaning = "what the file names is missing or cannot be used: broker, topic, folder, input file"


class StateError(ConnectorError):
    """What an earlier run left does not fit together, so a model would not be exact."""

    exit_code = 4
    meaning = "committed offset or checkpoint, snapshot, files and learner do not fit together"


class FencedError(ConnectorError):
    """Another process has the instance of this one, or took over its transactional id several times."""

    exit_code = 5
    meaning = "another process has the `instance` or the transactional id of this one"


class AccessError(ConnectorError):
    """The broker does not let this user in, or does not permit an operation."""

    exit_code = 6
    meaning = "the broker refuses: a password is wrong, or a permission is missing"


class StalledError(ConnectorError):
    """The processor was reset several times in a row without a checkpoint in between, or its `instance` was dropped."""

    exit_code = 7
    meaning = "too many attempts in a row without a checkpoint, or an `instance` that its group has dropped"


class CommitTimeoutError(ConnectorError):
    """A commit took too long. Kafka knows its outcome, and the next start reads it.

    Nothing raises it: its exit code ends the process from another thread, as nothing can interrupt the commit.
    """

    exit_code = 8
    meaning = "a commit did not end in time (its outcome is unknown, the next start reads it)"


def exit_codes() -> dict[int, str]:
    """Return the meaning of each exit code.

    >>> exit_codes()[2]
    'the YAML file is wrong'
    """
    errors = [kind for kind in globals().values() if isinstance(kind, type) and issubclass(kind, ConnectorError)]
    return {error.exit_code: error.meaning for error in errors}
