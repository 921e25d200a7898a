"""Why a record cannot be processed."""


class Reject(Exception):
    """A record cannot be processed. The text is the reason; `kind` is one of a few words, for statistics."""

    def __init__(self, reason: str, kind: str = "format") -> None:
        super().__init__(reason)
        self.kind = kind


class Unlearnable(Reject):
    """A record can be predicted and not learned, most often because of its label."""
