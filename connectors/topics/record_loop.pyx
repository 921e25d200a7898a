"""The compiled route of a record that nothing is special about: from the bytes that were read to the message of its output.

`Processor._process` is the route of any record, and says what a record leads to. This one does the same for most records, and
leaves every other one to it untouched: a record that is not taken here has moved nothing. So there are no rejects to write
here, and no errors to explain.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.time cimport monotonic
from libc.math cimport INFINITY, fabs, isfinite
from libc.string cimport memcpy

import orjson

from connectors.model.json_rows cimport JsonRows

from connectors.kafka import BadTimestamp, TooLarge
from connectors.model.records import JSON_CONTAINERS, TEXT_KEYS, Record, encode
from river_margins.pipeline import reads_rows

cdef object loads = orjson.loads, dumps = orjson.dumps, text_keys = TEXT_KEYS


cdef bytes with_number(bytes prefix, long long number):
    """Return the prefix followed by a number of at least 0."""
    cdef char[20] digits
    cdef Py_ssize_t first = 20, length = PyBytes_GET_SIZE(prefix)
    while True:
        first -= 1
        digits[first] = <char> (48 + number % 10)
        number //= 10
        if not number:
            break
    cdef bytes made = PyBytes_FromStringAndSize(NULL, length + 20 - first)
    memcpy(PyBytes_AS_STRING(made), PyBytes_AS_STRING(prefix), length)
    memcpy(PyBytes_AS_STRING(made) + length, digits + first, 20 - first)
    return made


cdef bint needs_no_escape(bytes text) noexcept:
    """Tell whether a text is the same between the quotes of JSON; others than ASCII are left to orjson."""
    cdef Py_ssize_t i
    cdef const unsigned char* letter = <const unsigned char*> PyBytes_AS_STRING(text)
    for i in range(PyBytes_GET_SIZE(text)):
        if not 32 <= letter[i] < 127 or letter[i] == c'"' or letter[i] == c"\\":
            return False
    return True


cdef bytes output_of_two(bytes id, bint prediction, double score, object label):
    """Return the value of an output with the classes true and false, as `encode` writes it; the id needs no escape."""
    cdef bytes start = b'{"id":"', number = dumps(score)
    cdef bytes middle = b'","prediction":true,"score":' if prediction else b'","prediction":false,"score":'
    cdef bytes end = b"}" if label is None else b',"label":true}' if label else b',"label":false}'
    cdef bytes made = PyBytes_FromStringAndSize(NULL, len(start) + len(id) + len(middle) + len(number) + len(end))
    put(put(put(put(put(PyBytes_AS_STRING(made), start), id), middle), number), end)
    return made


cdef inline char* put(char* place, bytes part) noexcept:
    """Copy a part to a place in memory; return the place behind it."""
    memcpy(place, PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part))
    return place + PyBytes_GET_SIZE(part)


cdef class RecordLoop:
    """Takes records through the models of their partitions, until one of them is special.

    Parameters
    ----------
    outbox
        Where the message for each record goes.
    """

    cdef dict routes
    cdef object outbox
    cdef readonly Py_ssize_t place

    def __init__(self, outbox):
        self.outbox, self.routes = outbox, {}

    def take(self, dict partitions, list records, Py_ssize_t start, set skipped, double due):
        """Process records from `start` on. Return the place of the first one that is left.

        Parameters
        ----------
        partitions
            The partitions with their models, by number.
        records
            Partition, offset, key, value, headers and timestamp of each.
        start
            The place of the first record.
        skipped
            Partitions whose records are left.
        due
            All records are left after this moment, a time of `time.monotonic`.

        Raises
        ------
        ReplayNeeded
            The record at `place` cannot be learned, and only a replay brings its model back.
        """
        cdef Py_ssize_t i
        cdef tuple record
        cdef Route route = None
        cdef object number = None
        try:
            for i in range(start, len(records)):
                self.place, record = i, records[i]
                if record[0] != number:
                    if route is not None:
                        route.leave()
                    number = record[0]
                    route = None if number in skipped else self.enter(number, partitions[number])
                if route is None or not route.take(record):
                    return i
                if monotonic() >= due:
                    return i + 1
            return len(records)
        finally:
            if route is not None:
                route.leave()

    cdef Route enter(self, object number, object partition):
        """Return the route of a partition, or None if none of its records can be taken here now."""
        cdef Route route = self.routes.get(number)
        if route is None or route.partition is not partition:
            route = self.routes[number] = Route(number, partition, self.outbox)
        return route if route.enter() else None


cdef class Route:
    """The route of the records of one partition. What it counts is noted when it is left: until then nothing reads it."""

    def __init__(self, number, partition, outbox):
        self.number, self.partition, self.outbox = number, partition, outbox
        self.model, self.proof, self.can_replay = partition.model, partition.proof, partition.model.can_replay
        self.source, self.encoded_source = partition.source, partition.source.encode()
        fields = self.model.plain_fields
        self.is_plain = fields is not None
        if self.is_plain:
            self.id_field, self.label_field, self.feature_fields = fields
            self.rows = JsonRows(*fields)

    cdef bint enter(self) except -1:
        """Begin with the present model; return False if no record can be taken here now."""
        model, outbox, partition = self.model, self.outbox, self.partition
        if not self.is_plain or model.watch is not None or partition.is_special or not outbox.is_plain:
            return False
        learner = model.learner
        self.reads_rows = reads_rows(learner)
        self.predict_score_one, self.learn_one, self.check_label = learner.predict_score_one, learner.learn_one, model.check_label
        self.is_regressor, self.learned, self.examples = model.is_regressor, model.learned, model.examples
        self.model_name = f"{model.snapshot}/".encode()
        self.counts = outbox.pending
        self.predictions, self.scores = [], []
        self.taken = self.learned_now = self.judged = self.right = 0
        self.error, self.oldest, self.send = self.counts.error, INFINITY, None
        self.position = self.proof.position
        return True

    cdef int leave(self) except -1:
        """Note what was done."""
        cdef object counts = self.counts
        self.outbox.add_moved([self.number], self.oldest)  # also if a record failed half-way
        if self.taken or self.learned_now:
            self.model.examples = self.examples
            if not self.can_replay:
                self.proof.pass_inputs(self.position, self.taken)
            counts.last_scores.extend(self.scores)
            counts.classes.update(self.predictions)
            counts.add_plain(self.taken, self.learned_now, self.judged, self.right, self.error)
            self.taken = self.learned_now = 0
        return 0

    cdef bint take(self, tuple record) except -1:
        """Take a record through the model, and send its output. Return False if it is special, and was not touched."""
        cdef object offset = record[1], key = record[2], value = record[3], headers = record[4], sent = record[5]
        cdef object label, id, prediction, score
        cdef bytes output
        if not self.read(value):
            return False
        label, id = self.label, self.id
        if id is None:
            id = f"{self.source}{offset}"
        try:
            prediction, score = self.predict_score_one(self.features)
            output = self.encoded(id, prediction, score, label)
            if label is not None and self.check_label is not None:
                self.check_label(label)
        except Exception:  # the other route tells why; so far nothing has moved
            return False
        if output is None:
            return False
        if label is not None:
            if not self.learn(label, value):
                return False
            if not self.can_replay:
                self.learned.append(value)
        self.note(prediction, score)
        name = with_number(self.model_name, self.examples)
        if label is not None:
            self.note_learned(prediction, label)
        self.position = offset + 1
        if self.can_replay:
            self.proof.advance(offset, value, self.examples)
        self.send_output(offset, key, output, headers, sent, id, name)
        return True

    cdef bint read(self, object value, Py_ssize_t start=0) except -1:
        """Read features, label and id from a value that begins at `start`. Return False if it is special."""
        cdef JsonRows rows = self.rows
        if value is None:
            return False
        self.is_row = self.reads_rows and rows.read(value, start)
        if self.is_row:
            self.features, self.label, self.id = rows.row, rows.label, rows.id
            return True
        try:
            fields = loads(value[start:] if start else value)
        except ValueError:
            return False
        if type(fields) is not dict:
            return False
        if self.reads_rows:
            rows.show(fields)
        self.label = (<dict> fields).pop(self.label_field, None) if self.label_field is not None else None
        self.id = (<dict> fields).pop(self.id_field, None) if self.id_field is not None else None
        if self.feature_fields is not None:
            fields = {name: fields[name] for name in self.feature_fields if name in fields}
        self.features = fields
        if not fields or type(self.label) in JSON_CONTAINERS:
            return False
        return self.id is None or type(self.id) is str or type(self.id) is int

    cdef bint learn(self, object label, bytes value) except -1:
        """Learn the features that were read last, also if they were predicted. If that fails, return False."""
        try:
            if self.is_row:
                self.rows.row.unread = True
            self.learn_one(self.features, label)
        except Exception as error:
            self.model.undo_learning(error, value)
            return False
        return True

    cdef bytes encoded(self, object id, object prediction, object score, object label):
        """Return the value of an output; None if it is special."""
        cdef dict said
        cdef bytes text
        if type(score) is not float:
            return None if prediction is None and score is not None else encode(id, prediction, score, label)
        if not isfinite(score):
            return None
        if type(id) is str and type(prediction) is bool and (label is None or type(label) is bool):
            text = (<str> id).encode()
            if needs_no_escape(text):
                return output_of_two(text, prediction, score, label)
        said = {"id": id, "prediction": prediction, "score": score}
        if label is not None:
            said["label"] = label
        return dumps(said, None, text_keys)

    cdef int note(self, object prediction, object score) except -1:
        """Count a prediction as `Counts.add_prediction` does."""
        self.taken += 1
        self.scores.append(score.get(prediction) if type(score) is dict else score)
        if not self.is_regressor:
            self.predictions.append(prediction)
        return 0

    cdef int note_learned(self, object prediction, object label) except -1:
        """Count a record that was learned, as `Counts.add_learned` does."""
        self.examples += 1
        self.learned_now += 1
        if prediction is None:
            return 0
        self.judged += 1
        if self.is_regressor:
            self.error += fabs(prediction - label)
        elif prediction == label:
            self.right += 1
        return 0

    cdef int send_output(
        self, object offset, object key, bytes output, object headers, object sent, object id, bytes name
    ) except -1:
        cdef object topic = self.topic
        cdef double timestamp = sent if sent is not None and sent > 0 else 0
        cdef list own = [("source", with_number(self.encoded_source, offset)), ("model", name)]
        if self.send is None:
            self.send, self.topic, self.to, self.keeps_timestamps = self.outbox.open_for(self.number)
            topic = self.topic
        if headers:
            own = [*headers, *own]
        if 0 < timestamp < self.oldest:
            self.oldest = timestamp
        tag = self.number, offset, topic
        try:
            self.send(topic, self.to, key, output, own, tag, sent if timestamp and self.keeps_timestamps else 0)
        except (BadTimestamp, TooLarge) as error:
            record = Record(f"{self.source}{offset}", key, None, None, headers, sent if timestamp else 0)
            record.id = id
            self.outbox.send_again(error, self.number, tag, record, topic, (key, output, own))
        return 0
