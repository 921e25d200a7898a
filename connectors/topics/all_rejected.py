"""A warning that every record was rejected: the rejects are in their topic, and the log would only count them."""

import logging

from connectors.model.counts import Counts

LEAST = 10  # records before a warning of a processor that goes on: some bad ones among others are no reason for it


class AllRejected:
    """Warns, once, that no record could be processed, and says why.

    Parameters
    ----------
    log
        Where the warning goes.
    topic
        The input; None if the log has the reason of each reject anyway.
    """

    def __init__(self, log: logging.Logger, topic: str | None) -> None:
        self._log, self._topic = log, topic

    def look(self, counts: Counts, least: int = LEAST) -> None:
        """Warn if at least so many records were read, and none was predicted."""
        if self._topic is None or counts.predicted:
            self._topic = None
            return
        # the others are of labels, whose topic may have a name that begins as that of the input
        reasons = [each.reason for each in counts.last_rejects if each.source.rsplit("-", 2)[0] == self._topic]
        if reasons and counts.read >= least:
            self._log.warning("no record of `%s` could be processed so far; the last one: %s", self._topic, reasons[-1])
            self._topic = None
