"""Why a record cannot be processed, and the lines of the log about it where rejects are not kept."""

import logging
from typing import Any

MOST_LOGGED = 10  # rejects between two commits
MAX_REASON_LENGTH = 300
KINDS = ("format", "null", "no_features", "features", "label", "weight", "time", "id", "overflow", "score", "output")
KINDS_OF_LABELS = ("second_label", "late_label", "unknown_id")


class Reject(Exception):
    """A record cannot be processed. The text is the reason; `kind` is one of a few words, for statistics.

    `may_pass` tells that the same bytes may be processed later, because what is missing is not in them.
    """

    def __init__(self, reason: str, kind: str = "format", may_pass: bool = False) -> None:
        super().__init__(reason)
        self.kind, self.may_pass = kind, may_pass


class Unlearnable(Reject):
    """A record can be predicted and not learned, most often because of its label."""


class Unjoinable(Unlearnable):
    """A record can be predicted, and no label that comes later can find it."""


def reason_of(reject: Reject) -> str:
    """Return the reason of a reject, shortened: it may quote most of the record."""
    reason = str(reject)
    return f"{reason[:MAX_REASON_LENGTH]} ..." if len(reason) > MAX_REASON_LENGTH else reason


def without_frames(reject: Reject) -> Reject:
    """Return a reject that a record can keep: the frames of its traceback hold the record, so none would be freed."""
    reject.__traceback__ = reject.__cause__ = reject.__context__ = None
    return reject


def log_reject(log: logging.Logger, source: str, reason: str, count: int, place: dict[str, Any] | None = None) -> None:
    """Log a reject of a processor that keeps none; of many between two commits, only the first ones.

    Parameters
    ----------
    log
        The logger.
    source, reason
        Which record was rejected, and why.
    count
        The rejects since the last commit, with this one.
    place
        Its topic, partition and offset for a log in JSON.
    """
    if count <= MOST_LOGGED:
        log.warning("rejected %s: %s", source, reason, extra=place)
    elif count == MOST_LOGGED + 1:
        log.warning(
            "rejected %s, too: more rejects are only counted until the next commit. Add `rejects` to the YAML file to "
            "keep each of them with its reason", source, extra=place,
        )  # fmt: skip
