"""The compiled route of records whose label comes later, and of their labels, if nothing is special about them.

`LateLearning` is the route of any record and label, and says what they lead to. This one does the same for most of them, and
leaves every other one to it, as `connectors.topics.record_loop` does for records with labels.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

import time

import orjson

from connectors.labels.inbox cimport Arrived, Inbox, Queue, arrival, size_of
from connectors.labels.pending cimport Pending, number_at, sequence_in, time_in, write_number
from connectors.topics.record_loop cimport Route, with_number

from connectors.labels import waiting
from connectors.labels.item import HEAD, Item
from connectors.labels.late_learning import Outcome, Results
from connectors.labels.merging import NO_TIME, Side
from connectors.model.counts import DELAYS
from connectors.model.records import JSON_CONTAINERS

cdef object loads = orjson.loads, now = time.monotonic
cdef object no_time = NO_TIME, RECORDS = Side.RECORDS, LABELS = Side.LABELS
cdef object packed_record = waiting.packed_record, waiting_record = waiting.waiting_record
cdef bytes SETTLED = bytes([waiting.Gone.SETTLED])
cdef Py_ssize_t LENGTH_OF_HEAD = HEAD.size, BEFORE_VALUE = waiting.SCORE.size
cdef int FALSE, TRUE, NONE, SAME = waiting.SAME
FALSE, TRUE, NONE = [waiting.FORMS[prediction] for prediction in (False, True, None)]

cdef enum:
    LIMITS = 16

cdef double limits[LIMITS]
for place, limit in enumerate(DELAYS):
    limits[place] = limit


cdef class LateLoop:
    """Takes records and labels through the models of their partitions, until one of them is special.

    Parameters
    ----------
    outbox
        Where the message for each record goes.
    """

    cdef dict routes
    cdef object outbox

    def __init__(self, outbox):
        self.outbox, self.routes = outbox, {}

    def receive(self, partitions, list polled, set skipped, double moment):
        """Put what was polled at a moment into the inboxes, except that of skipped partitions."""
        cdef tuple record
        cdef Inbox inbox
        cdef Queue queue = None
        cdef object place = None, labels = None, side = None
        cdef bint is_timestamped = False
        for record in polled:
            if record[0] != place:
                place = record[0]
                number, side = (place, RECORDS) if place >= 0 else (~place, LABELS)
                labels = None if number in skipped else partitions[number].labels
                if labels is not None:
                    inbox, is_timestamped = labels.inbox, labels.is_timestamped
                    queue = inbox.queue(side)
            if labels is None:
                continue
            if is_timestamped:
                sent = record[5]
                size = size_of(record[2], record[3], record[4])
                queue.put(arrival(sent if sent is not None and sent > 0 else no_time, moment, record[1], record, size))
            else:
                labels.receive(side, record, moment)

    def take(self, number, partition, double due):
        """Process what comes next in the inbox of a partition, until `due`. Tell whether the next one is special."""
        cdef LateRoute route = self.routes.get(number)
        if route is None or route.partition is not partition:
            route = self.routes[number] = LateRoute(number, partition, self.outbox)
        return not route.enter() or route.take_all(due)


cdef class LateRoute(Route):
    """The route of the records and labels of one partition."""

    cdef:
        object late, labels, waiting, delays, label_id, label_name
        Inbox inbox
        Pending records, early, gone
        bint has_outcomes
        Py_ssize_t labels_taken
        Py_ssize_t delayed[LIMITS]
        long long labels_position
        int64_t time
        double delay

    def __init__(self, number, partition, outbox):
        super().__init__(number, partition, outbox)
        self.labels = partition.labels
        self.inbox, self.late, self.waiting = self.labels.inbox, self.labels.route, self.labels.waiting
        self.records, self.early, self.gone = self.waiting.records, self.waiting.labels, self.waiting.gone
        fields = self.late.label_fields
        self.is_plain = self.is_plain and self.labels.is_timestamped and fields is not None and self.late.asking is None
        if self.is_plain:
            self.label_id, self.label_name = fields

    cdef bint enter(self) except -1:
        cdef Py_ssize_t i
        if not Route.enter(self):
            return False
        self.labels_position, self.labels_taken, self.time = self.labels.position, 0, self.waiting.time
        self.has_outcomes = self.outbox.has_outcomes
        self.delay, self.delays = self.counts.delay, self.counts.delays
        for i in range(LIMITS):
            self.delayed[i] = 0
        return True

    cdef int leave(self) except -1:
        cdef Py_ssize_t i
        Route.leave(self)
        self.waiting.time = self.time
        if self.labels_taken:
            self.labels.position = self.labels_position
            self.counts.labels += self.labels_taken
            self.counts.delay = self.delay
            for i in range(len(DELAYS)):
                if self.delayed[i]:
                    self.delays[DELAYS[i]] = self.delays.get(DELAYS[i], 0) + self.delayed[i]
        return 0

    cdef bint take_all(self, double due) except -1:
        """Process what comes next until `due`. Tell whether the next one is special."""
        cdef Queue queue
        cdef Arrived head
        try:
            while True:
                queue = self.inbox.following()
                if queue is None:
                    return False
                head = queue.head()
                if type(head.record) is not tuple or type(head.time) is not int:
                    return True
                if not (self.take(<tuple> head.record) if queue is self.inbox.records else self.take_label(<tuple> head.record)):
                    return True
                queue.drop_head()
                self.inbox.pinned = None
                if now() >= due:
                    return False
        finally:
            self.leave()

    cdef bint pass_time(self, int64_t moment) except -1:
        """Move the event time on, and let go what has waited too long. Return False if that is left to the other route."""
        self.time = max(self.time, moment)
        if len(self.records.contents) > self.records.most or len(self.early.contents) > self.early.most:
            return False  # with a smaller `pending` than before
        if self.time > self.records.due_at or self.time > self.early.due_at:
            if self.late.otherwise is not None or self.time > self.early.due_at:
                return False
            self.waiting.time = self.time
            self.late.let_go(self.counts)
        self.gone.drop_expired(self.time)
        return True

    cdef bint take(self, tuple record) except -1:
        """Predict a record, send its output, and let it wait. Return False if it is special, and was not touched."""
        cdef object offset = record[1], key = record[2], id, prediction, score
        cdef bytes output, waits_as
        if not self.pass_time(record[5]) or not self.read(record[3]) or self.label is not None:
            return False
        id = self.id
        try:
            if id is None:
                if self.id_field is not None or key is None:
                    return False
                id = (<bytes> key).decode()
            waits_as = (id if type(id) is str else str(id)).encode()
            if self.records.has(waits_as) or self.early.has(waits_as) or len(self.records.contents) >= self.records.most:
                return False
            prediction, score = self.predict_score_one(self.features)
            if prediction is None and score == {}:
                score = None  # as `known_score`
            output = self.encoded(id, prediction, score, None)
        except Exception:  # the other route tells why; so far nothing has moved
            return False
        if output is None:
            return False
        self.records.put(waits_as, offset, self.time, packed(offset, self.time, prediction, score, record[3]))
        self.note(prediction, score)
        self.position = offset + 1
        self.send_output(offset, key, output, record[4], record[5], id, with_number(self.model_name, self.examples))
        return True

    cdef bint take_label(self, tuple message) except -1:
        """Learn the record that a label is for. Return False if it is special, and was not touched."""
        cdef object label, prediction, score
        cdef bytes key = self.key_of(message), found
        cdef int form
        cdef Py_ssize_t start
        cdef uint64_t bits
        cdef double said
        if key is None or not self.pass_time(message[5]):
            return False
        label, found = self.label, self.records.content(key)
        if found is None:
            return False
        form = PyBytes_AS_STRING(found)[LENGTH_OF_HEAD]
        if form == FALSE or form == TRUE or form == NONE or form == SAME:
            bits = number_at(PyBytes_AS_STRING(found) + LENGTH_OF_HEAD + 1)
            memcpy(&said, &bits, 8)
            score = said
            prediction = score if form == SAME else None if form == NONE else form == TRUE
            start = BEFORE_VALUE
        else:
            _, _, _, prediction, score, value, answers = waiting_record(Item(key, found))
            if answers is not None:
                return False
            start = PyBytes_GET_SIZE(found) - len(value)
        if not self.read(found, start) or self.id is None and self.id_field is not None:
            return False
        try:
            if self.check_label is not None:
                self.check_label(label)
        except Exception:
            return False
        if not self.learn(label, found):
            return False
        self.learned.append((found, label, start))
        self.records.take(key)
        self.gone.renew(key, self.time, SETTLED)
        self.note_delay(self.time - time_in(found))
        self.note_learned(prediction, label)
        self.labels_taken += 1
        self.labels_position = message[1] + 1
        if self.has_outcomes:
            self.send_outcome(message, key, found, prediction, score, label)
        return True

    cdef bytes key_of(self, tuple message):
        """Return the id that a label names, and keep its label in `label`; None if the label is special."""
        cdef object id
        try:
            fields = loads(message[3])
            if type(fields) is not dict:
                return None
            self.label = (<dict> fields).get(self.label_name)
            id = message[2].decode() if self.label_id is None else (<dict> fields).get(self.label_id)
            if self.label is None or type(self.label) in JSON_CONTAINERS:
                return None
            return (<str> id).encode() if type(id) is str else str(id).encode() if type(id) is int else None
        except Exception:
            return None

    cdef int note_delay(self, int64_t milliseconds) except -1:
        """Count a delay as `Counts.add_delay` does."""
        cdef double seconds = (milliseconds if milliseconds > 0 else 0) / 1000.0
        cdef Py_ssize_t i = 0
        while limits[i] < seconds:
            i += 1
        self.delayed[i] += 1
        self.delay += seconds
        return 0

    cdef int send_outcome(
        self, tuple message, bytes key, bytes found, object prediction, object score, object label
    ) except -1:
        cdef object id = key.decode() if self.id is None else self.id
        cdef object source = f"{self.source}{sequence_in(found)}"
        cdef object delay = self.time - time_in(found)
        cdef object label_record = self.labels.record_of(LABELS, message)
        label_record.id = key.decode()  # which a short message tells
        outcome = Outcome(id, prediction, score, label, delay, source, label_record)
        self.outbox.send_results(self.number, (message[0], message[1]), Results((outcome,), ()))
        return 0


cdef bytes packed(uint64_t offset, int64_t moment, object prediction, object score, bytes value):
    """Return what waits of a record, as `waiting.packed_record` does."""
    cdef int form
    cdef bytes made
    cdef char* start
    cdef double given
    cdef uint64_t bits
    if type(score) is not float:
        return packed_record(offset, moment, prediction, score, value)
    if prediction is None or type(prediction) is bool:
        form = NONE if prediction is None else TRUE if prediction else FALSE
    elif type(prediction) is float and prediction == score and <double> score != 0.0:
        form = SAME
    else:
        return packed_record(offset, moment, prediction, score, value)
    made = PyBytes_FromStringAndSize(NULL, BEFORE_VALUE + PyBytes_GET_SIZE(value))
    start = PyBytes_AS_STRING(made)
    write_number(start, offset)
    write_number(start + 8, <uint64_t> moment)
    start[LENGTH_OF_HEAD] = <char> form
    given = score
    memcpy(&bits, &given, 8)
    write_number(start + LENGTH_OF_HEAD + 1, bits)
    memcpy(start + BEFORE_VALUE, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    return made
