"""A consumer of two topics: the input, and the labels, whose partition n is `~n`."""

import uuid

import pytest

from connectors.kafka import CLIENTS, Committed, OutOfRange, client
from tests.helpers.streams import DEADLINE, wait_for


class Place:
    """Two topics, their group, and clients that are closed at the end."""

    def __init__(self, kafka, library, partitions=(2, 2)):
        self.module = client(library)
        self.name = f"k{uuid.uuid4().hex[:12]}"
        self.labels = f"{self.name}-labels"
        self.settings = {"bootstrap_servers": kafka.bootstrap_servers}
        self.opened = []
        kafka.create_topics({self.name: partitions[0], self.labels: partitions[1]})

    def consumer(self, labels=True):
        topic = self.labels if labels else None
        consumer = self.module.Consumer(self.name, self.name, self.settings, labels=topic)
        self.opened.append(lambda: consumer.close(5.0))
        return consumer

    def producer(self, transactional_id=None):
        producer = self.module.Producer(transactional_id, self.settings)
        self.opened.append(producer.close)
        return producer

    def fill(self):
        producer = self.producer()
        for n in range(20):
            producer.send(self.name, n % 2, None, b"r%d" % n, [], n)
            producer.send(self.labels, n % 2, None, b"l%d" % n, [], n)
        producer.flush(DEADLINE)
        producer.check()


@pytest.fixture(params=CLIENTS)
def library(request):
    return request.param


@pytest.fixture
def make(kafka, library):
    made = []

    def make(*arguments):
        made.append(Place(kafka, library, *arguments))
        return made[-1]

    yield make
    for place in made:
        for close in reversed(place.opened):
            close()


def assigned(*consumers):
    """Polls until each consumer has an assignment that no other one shares."""

    def found():
        for consumer in consumers:
            consumer.poll(0.1)
        owned = [consumer.ownership for consumer in consumers]
        return all(owned) and len({each.generation for each in owned}) == 1

    wait_for(found, "an assignment")


def read(consumer, count):
    found = []

    def enough():
        found.extend(consumer.poll(0.2))
        return len(found) >= count

    wait_for(enough, f"{count} records")
    return found


def test_records_of_both_topics(make):
    place = make()
    place.fill()
    consumer = place.consumer()
    consumer.join()
    assigned(consumer)
    assert consumer.ownership.partitions == {0, 1} and not consumer.ownership.unmatched
    for number in (0, 1, ~0, ~1):
        assert consumer.offset_range(number) == (0, 10)
        consumer.seek(number, 4)
    found = read(consumer, 24)
    for number in (0, 1, ~0, ~1):
        begins = "r" if number >= 0 else "l"
        rest = number if number >= 0 else ~number
        expected = [(offset, f"{begins}{2 * offset + rest}".encode()) for offset in range(4, 10)]
        assert [(record[1], record[3]) for record in found if record[0] == number] == expected
        assert consumer.position(number) == 10
    consumer.pause(~0)
    consumer.seek(0, 0)
    assert {record[0] for record in read(consumer, 10)} == {0}
    consumer.seek(~0, 9)
    assert [record[:2] for record in read(consumer, 1)] == [(~0, 9)]


def test_what_is_held_is_read_on_without_a_gap(make):
    place = make()
    place.fill()
    consumer = place.consumer()
    consumer.join()
    assigned(consumer)
    for number in (0, 1, ~0, ~1):
        consumer.hold(number)  # nothing was read: the library could not tell where to go on
        consumer.seek(number, 0)
    found = read(consumer, 40)
    for _ in range(2):
        consumer.hold(~0)
    consumer.release(0)
    place.fill()
    found += read(consumer, 30)
    assert {record[0] for record in found[40:]} == {0, 1, ~1}
    consumer.release(~0)
    found += read(consumer, 10)
    for number in (0, 1, ~0, ~1):
        assert [record[1] for record in found if record[0] == number] == list(range(20))
    consumer.hold(1)
    consumer.seek(0, 15)  # which releases the other one, or not
    consumer.release(1)
    place.fill()
    assert [record[1] for record in read(consumer, 45) if record[0] == 1] == list(range(20, 30))


@pytest.mark.parametrize("is_transactional", [True, False])
def test_offsets_of_both_topics_are_committed_at_once(make, is_transactional):
    place = make()
    consumer = place.consumer()
    consumer.join()
    assigned(consumer)
    assert consumer.committed([0, 1], DEADLINE) == {0: None, 1: None}
    offsets = {0: Committed(3, "a", Committed(7, "b")), 1: Committed(4, "c", Committed(0, "d"))}
    if is_transactional:
        producer = place.producer(f"{place.name}-id")
        producer.begin()
        producer.send_offsets(place.name, offsets, consumer.ownership, place.labels)
        producer.commit()
    else:
        consumer.commit(offsets, consumer.ownership, DEADLINE)
    assert consumer.committed([0, 1], DEADLINE) == offsets
    assert place.consumer(labels=False).committed([0, 1], DEADLINE) == {
        number: to.with_labels(None) for number, to in offsets.items()
    }


def test_an_offset_that_is_out_of_range_names_the_labels(make):
    place = make()
    place.fill()
    consumer = place.consumer()
    consumer.join()
    assigned(consumer)
    consumer.seek(~1, 99)
    with pytest.raises(OutOfRange, match="of partition 1 of the labels") as raised:
        wait_for(lambda: consumer.poll(0.2), "an error")
    assert raised.value.partition == ~1


def test_each_number_has_one_owner(make):
    place = make((4, 4))
    consumers = [place.consumer(), place.consumer()]
    for consumer in consumers:
        consumer.join()
    wait_for(
        lambda: (
            [consumer.poll(0.1) for consumer in consumers]
            and all(consumer.ownership and len(consumer.ownership.partitions) == 2 for consumer in consumers)
        ),
        "two partitions for each",
    )
    assert not any(consumer.ownership.unmatched for consumer in consumers)


def test_numbers_that_two_members_share_are_found(make):
    """A member that reads the input only, or topics with unlike numbers of partitions: range assignment splits them."""
    place = make((4, 2))
    consumer, other = place.consumer(), place.consumer()
    consumer.join()
    assigned(consumer)
    assert consumer.ownership.partitions == {0, 1, 2, 3} and consumer.ownership.unmatched == {2, 3}
    other.join()
    wait_for(
        lambda: (
            [each.poll(0.1) for each in (consumer, other)]
            and all(each.ownership and len(each.ownership.partitions) == 2 for each in (consumer, other))
        ),
        "two partitions for each",
    )
    assert all(each.ownership.unmatched for each in (consumer, other))
