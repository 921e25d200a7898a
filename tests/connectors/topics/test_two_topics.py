"""That a topic has nothing to read is what the broker says, not an empty poll."""

import time

from connectors.labels.inbox import Inbox
from connectors.labels.merging import Side
from connectors.model.records import Record
from connectors.topics.two_topics import TwoTopics


class Reader:
    """Stands for a consumer whose topics end at offset 5."""

    def __init__(self, position):
        self.at, self.asked = position, []

    def offset_range(self, place):
        self.asked.append(place)
        return 0, 5

    def position(self, place):
        return self.at


def looked(reader, side):
    """Returns from which side is taken after a look, with a wait of almost nothing."""
    inbox = Inbox(wait=0.001)
    inbox.add(side, 7, Record("a-3-7", None, b"{}"), 1000, time.monotonic() - 1)
    TwoTopics(reader, None, None, None, 0.001, True)._look_for_more(3, inbox)
    return inbox.next


def test_a_topic_whose_records_are_on_their_way_is_waited_for():
    for side in Side:
        assert looked(Reader(position=4), side) is None
        assert looked(Reader(position=5), side) is side


def test_the_topic_of_the_empty_queue_is_asked():
    for side, place in ((Side.RECORDS, ~3), (Side.LABELS, 3)):
        reader = Reader(5)
        looked(reader, side)
        assert reader.asked == [place]
