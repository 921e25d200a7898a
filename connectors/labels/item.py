"""One content that waits under a key."""

import struct
from typing import NamedTuple

HEAD = struct.Struct("<Qq")  # sequence number and event time, in front of each content


class Item(NamedTuple):
    """One content that waits.

    Attributes
    ----------
    key
        The key under which it waits.
    packed
        Its number in the order of arrival and the event time at which it came, as `HEAD`, and then the content.
    """

    key: bytes
    packed: bytes

    @property
    def sequence(self) -> int:
        """Its number in the order of arrival."""
        return HEAD.unpack_from(self.packed)[0]

    @property
    def time(self) -> int:
        """The event time at which it came, in milliseconds."""
        return HEAD.unpack_from(self.packed)[1]
