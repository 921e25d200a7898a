"""What a user can type to go on where a committed offset, its snapshot, the topics and the file do not fit together."""

from dataclasses import dataclass

from connectors.config import Config
from connectors.topics.offset_metadata import OffsetMetadata

REWIND = "river-margins snapshots rewind FILE"


@dataclass(frozen=True)
class Advice:
    """Parts of the messages for the group of a file."""

    config: Config

    def of(self, partition: int) -> str:
        return f"partition {partition} of `{self.config.input.topic}`"

    def go_on(self, name: str) -> str:
        return (
            f"to go on from the model of that moment (the output since then is written again): `{REWIND} --to {name}`"
        )

    def go_back(self, partition: int, names: list[str]) -> str:
        """Return how to go on from an older one of these snapshots; nothing if there is none."""
        if len(names) < 2:
            return ""
        return (
            "to go back to an older model, such as one before an upgrade (the output since then is written again): "
            f"`{REWIND} --time TIME --partition {partition}`; "
        )

    def go_on_from_newest(self, names: list[str]) -> str:
        """Return how to go on from the last of these snapshots of a partition."""
        before = (
            f"; that is the newest snapshot: if a crash came before its commit, its last output is missing, and "
            f"the one before is right: `{REWIND} --to {names[-2]}`"
            if len(names) > 1
            else ""
        )
        return f"{self.go_on(names[-1])}{before}"

    def rewind_each(self, metadata: OffsetMetadata) -> str:
        """Return the command that keeps a model, in a problem of all partitions."""
        again = (  # of a processor with `snapshots.every` that was killed
            f", which goes back by {metadata.inputs} inputs, whose output is written again: to avoid that, put "
            f"the file back as it was, and first start the processor and stop it by SIGTERM"
            if metadata.inputs
            else ""
        )
        return (
            f"`{REWIND} --to {metadata.snapshot}`, and so in each partition (`river-margins lint --check-broker "
            f"FILE` names all commands){again}; {self.start_over()}"
        )

    def start_over(self, partition: int | None = None, offset: int | None = None) -> str:
        """Return how to go on with empty models: in one partition, or in all if the file fits to none of them.

        Without an `offset` that is where the committed offsets are, so that no output comes twice.
        """
        if partition is None:
            return (
                f"to go on with empty models: `{REWIND} --empty`; to learn the retained input again, give the "
                "processor another `name` and other topics to write to"
            )
        at = "" if offset is None else f" --offset {offset}"
        kind = "an empty model" if self.config.start_from is None else "the model of `start_from`"
        return f"to go on with {kind}: `{REWIND} --empty{at} --partition {partition}`"


def keep_model(partition: int, metadata: OffsetMetadata) -> str:
    """Return how `Advice.start_over` begins with the model of the snapshot of a partition."""
    but = f", but for its last {metadata.inputs} inputs" if metadata.inputs else ""  # with `snapshots.every`
    return (
        f"; to keep the model{but}, save it before, with `river-margins snapshots export FILE {metadata.snapshot} "
        f"--to model-{partition}.snapshot`, and name it as `start_from`: each partition has a model of its own"
    )
