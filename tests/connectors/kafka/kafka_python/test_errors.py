from kafka import errors as kafka_errors

from connectors.kafka.kafka_python.errors import translate


def test_the_name_of_an_error_is_told_once():
    assert str(translate(kafka_errors.KafkaTimeoutError("no broker"))) == "KafkaTimeoutError: no broker"
    assert str(translate(OSError(5, "io"))) == "OSError: [Errno 5] io"
    said = "KafkaTimeoutError: the brokers did not answer in time"  # the library gives no reason for some
    assert [str(translate(kafka_errors.KafkaTimeoutError(*given))) for given in ((), (None,))] == [said, said]
