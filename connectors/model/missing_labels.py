"""A warning for files that name a wrong field as the label: then nothing is learned, and nothing fails."""

import logging

from connectors.model.counts import Counts

LEAST = 1_000  # records without a label before a warning


class MissingLabels:
    """Warns, once, that no record has had a label.

    Parameters
    ----------
    log
        Where the warning goes.
    field
        The field of the label; None if labels are not in the records, and there is nothing to warn of.
    """

    def __init__(self, log: logging.Logger, field: str | None) -> None:
        self._log, self._field = log, field

    def look(self, counts: Counts, examples: int, least: int = LEAST) -> None:
        """Warn if at least so many records were predicted, and no label was learned or refused."""
        # a model that has begun anew after a drift has no examples
        if self._field is None or examples or counts.learned or counts.unteachable:
            self._field = None
        elif counts.predicted >= least:
            self._log.warning(warning(self._field, counts.predicted))
            self._field = None


def warning(field: str, records: int) -> str:
    """Return a sentence about records without a label.

    >>> warning("is_phising", 1000)
    'none of 1,000 records has a label, so nothing is learned: is `record.label: is_phising` the field of the label?'
    """
    question = f"is `record.label: {field}` the field of the label?"
    return f"none of {records:,} records has a label, so nothing is learned: {question}"
