"""What the checks before a start find."""

from dataclasses import dataclass

from connectors.errors import ConnectorError


@dataclass(frozen=True)
class Finding:
    """A finding. A problem would end the processor or lose data; `kind` has its exit code. A note has no kind."""

    sentence: str
    kind: type[ConnectorError] | None

    def __str__(self) -> str:
        return f"{'problem' if self.kind else 'note'}: {self.sentence}"
