from connectors.model.json_rows cimport JsonRows


cdef class Route:
    cdef:
        object partition, number, model, proof, outbox, counts, send, topic, to
        object predict_score_one, learn_one, check_label
        object id_field, label_field
        JsonRows rows
        list feature_fields, learned, predictions, scores
        str source
        bytes encoded_source, model_name
        bint is_plain, is_regressor, keeps_timestamps, reads_rows, can_replay
        Py_ssize_t examples, taken, learned_now, judged, right
        long long position
        double oldest, error
        object features, label, id  # of the value that was read last
        bint is_row  # whether these features are `rows.row`
    cdef bint enter(self) except -1
    cdef int leave(self) except -1
    cdef bint take(self, tuple record) except -1
    cdef bint read(self, object value, Py_ssize_t start=*) except -1
    cdef bint learn(self, object label, bytes value) except -1
    cdef bytes encoded(self, object id, object prediction, object score, object label)
    cdef int note(self, object prediction, object score) except -1
    cdef int note_learned(self, object prediction, object label) except -1
    cdef int send_output(
        self, object offset, object key, bytes output, object headers, object sent, object id, bytes name
    ) except -1


cdef bytes with_number(bytes prefix, long long number)
