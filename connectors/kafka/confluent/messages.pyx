"""Records of the messages that confluent-kafka returns, and its methods called without a look-up by name."""

cimport cython
from cpython.exc cimport PyErr_Clear, PyErr_Occurred
from cpython.object cimport PyObject

from confluent_kafka import Message


cdef extern from "Python.h":
    ctypedef object (*PyCFunction)(object, PyObject*)
    ctypedef struct PyMethodDef:
        PyCFunction ml_meth
        int ml_flags
    ctypedef struct PyMethodDescrObject:
        PyMethodDef* d_method
    int METH_NOARGS


@cython.final
cdef class Method:
    """A method of messages that takes no arguments. What it is called with must be a message."""

    cdef PyCFunction function

    def __init__(self, descriptor):
        if type(descriptor) is not type(str.upper) or (<PyMethodDescrObject*> descriptor).d_method.ml_flags != METH_NOARGS:
            raise ImportError(f"{descriptor} of this confluent-kafka is another kind of method: update this package")
        self.function = (<PyMethodDescrObject*> descriptor).d_method.ml_meth

    cdef object of(self, object message):
        return self.function(message, NULL)


cdef object message_type = Message
cdef Method error_of = Method(Message.error), topic_of = Method(Message.topic), partition_of = Method(Message.partition)
cdef Method offset_of = Method(Message.offset), key_of = Method(Message.key), value_of = Method(Message.value)
cdef Method headers_of = Method(Message.headers), timestamp_of = Method(Message.timestamp)
cdef Method epoch_of = Method(Message.leader_epoch)


def records_of(list messages, dict positions, labels, epochs, take_event, note_bad_headers):
    """Return the messages that are records, and move the positions past them.

    Parameters
    ----------
    messages
        What the library has returned.
    positions
        The next offset of each partition that is read, by its number as in `Consumer`; records before it are left out, and
        those of other partitions, too: they belong to an earlier assignment.
    labels
        The topic of the labels, or None.
    epochs
        The `LeaderEpochs` that take note of the records.
    take_event
        Called with each message that is an event, and with its error.
    note_bad_headers
        Called with each message whose headers have a name that is not UTF-8. Its record has none.
    """
    cdef long long offset, first = 0, last = 0
    cdef list records = []
    noted = epoch = None  # partition and epoch of the records from `first` to `last`, which are noted in one call
    for message in messages:
        if type(message) is not message_type:
            raise TypeError(f"not a message: {message!r}")
        error = error_of.of(message)
        if error is not None:
            take_event(message, error)
            continue
        partition, offset = partition_of.of(message), offset_of.of(message)
        if labels is not None and topic_of.of(message) == labels:
            partition = ~partition
        reached = positions.get(partition)
        if reached is None or offset < <long long> reached:
            continue
        positions[partition] = offset + 1
        its = epoch_of.of(message)
        if its != epoch or partition != noted:
            if epoch is not None:
                epochs.note(noted, first, last, epoch)
            noted, epoch, first = partition, its, offset
        last = offset
        headers = headers_of.of(message)
        if PyErr_Occurred() != NULL:  # if a name is not UTF-8, the library returns a value and leaves an error behind
            PyErr_Clear()
            headers = None
            note_bad_headers(message)
        records.append((partition, offset, key_of.of(message), value_of.of(message), headers, timestamp_of.of(message)[1]))
    if epoch is not None:
        epochs.note(noted, first, last, epoch)
    return records
