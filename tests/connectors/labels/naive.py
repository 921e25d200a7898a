"""The join written down once more, with lists that keep everything: slow, and easy to check by eye."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Naive:
    """What waits, as lists of `[id, sequence, time, what]`. Steps are those of `WaitingRecords`, in the same order."""

    within: int
    pending: int
    time: int = -(2**63)
    records: list[list[Any]] = field(default_factory=list)
    labels: list[list[Any]] = field(default_factory=list)
    gone: list[list[Any]] = field(default_factory=list)
    log: list[Any] = field(default_factory=list)

    def record(self, id, sequence, time):
        self.pass_time(time)
        if any(id == other for other, *_ in self.records):
            return self.log.append(("waits already", id, sequence))
        early = next((label for label in self.labels if label[0] == id), None)
        if early:
            self.labels.remove(early)
            self.leave(id, "second_label")
            return self.log.append(("settled", id, sequence, early[1], early[2] - self.time))
        self.records.append([id, sequence, self.time])
        self.bound()
        return None

    def label(self, id, sequence, time):
        self.pass_time(time)
        found = next((record for record in self.records if record[0] == id), None)
        if found:
            self.records.remove(found)
            self.leave(id, "second_label")
            return self.log.append(("settled", id, found[1], sequence, self.time - found[2]))
        why = next((entry[2] for entry in self.gone if entry[0] == id), None)
        if why is None and any(id == other for other, *_ in self.labels):
            why = "second_label"
        if why:
            return self.log.append(("rejected", sequence, why))
        self.labels.append([id, sequence, self.time])
        self.bound()
        return None

    def leave(self, id, why):
        self.gone = [entry for entry in self.gone if entry[0] != id] + [[id, self.time, why]]
        self.gone = self.gone[-self.pending :]

    def pass_time(self, time):
        self.time = max(self.time, time)
        self.bound()

    def bound(self):
        """Let go what came too long ago, and the first of too many."""
        for record in list(self.records):
            if record[2] + self.within < self.time:
                self.records.remove(record)
                self.leave(record[0], "late_label")
                self.log.append(("expired", record[0], record[1]))
        while len(self.records) > self.pending:
            id, sequence, _ = self.records.pop(0)
            self.leave(id, "late_label")
            self.log.append(("displaced", id, sequence))
        self.gone = [entry for entry in self.gone if entry[1] + self.within >= self.time]
        for label in list(self.labels):
            if label[2] + self.within < self.time:
                self.labels.remove(label)
                self.log.append(("rejected", label[1], "unknown_id"))
        while len(self.labels) > self.pending:
            self.log.append(("rejected", self.labels.pop(0)[1], "unknown_id"))
