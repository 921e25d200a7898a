"""A producer on confluent-kafka (librdkafka).

- A producer is never used again after an error. Its remaining messages are dropped, so that closing waits for nothing.
- Errors that belong to no call, such as a wrong password, come by a callback, and the next call raises them.
- What the library does not document is in `connectors.kafka.confluent.internals`.
- The library takes up to 100,000 messages at once, also those that a quota lets the brokers take slowly: `send` waits.
"""

import functools
import time
from collections.abc import Mapping
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from connectors.kafka import BadTimestamp, ClientError, Committed, Headers, Ownership, TooLarge
from connectors.kafka.confluent import internals
from connectors.kafka.confluent.consumer import offsets_and_metadata
from connectors.kafka.confluent.errors import ErrorTranslator
from connectors.kafka.confluent.settings import ONE_MESSAGE_PER_BATCH, PRODUCER, merged
from connectors.kafka.errors import larger_than_allowed, no_generation, no_outcome, producer_permissions
from connectors.kafka.quota import LONGEST_STOP, Quota, size_of

INIT_TIMEOUT = 10.0  # seconds to find the coordinator of the transactions
QUEUE_TIMEOUT = 10.0  # seconds to wait for room in a full queue of messages
LONGEST_WAIT = 0.1  # seconds of one wait for outcomes
# librdkafka reports one record of several as invalid, whatever the reason; another one than its timestamp is rare
_BAD_TIMESTAMP = {KafkaError.INVALID_TIMESTAMP, KafkaError.INVALID_RECORD}
NO_KEY = "; it has no key, which a topic with `cleanup.policy=compact` does not take"
MESSAGES_BETWEEN_REPORTS = 200  # after as many, outcomes are fetched, and a quota is noticed


class Producer:
    """An idempotent producer, transactional with a `transactional_id`; `settings` are those of librdkafka."""

    def __init__(self, transactional_id: str | None, settings: Mapping[str, Any]) -> None:
        self._sent, self._next_look = 0, 0
        self._quota = Quota()
        self._failed: list[tuple[Any, KafkaError, confluent_kafka.Message]] = []
        self._errors = ErrorTranslator(producer_permissions(transactional_id))
        given = merged(PRODUCER, dict(settings))
        self._transaction_timeout = given["transaction.timeout.ms"] / 1000
        self._sends_alone = given.items() >= ONE_MESSAGE_PER_BATCH.items()
        with self._errors.translated():
            self._producer: Any = confluent_kafka.Producer(
                {"delivery.timeout.ms": given["transaction.timeout.ms"]}
                | given
                | {
                    "enable.idempotence": True,
                    "acks": "all",
                    "allow.auto.create.topics": False,
                    "partitioner": "murmur2_random",
                    "delivery.report.only.error": True,
                    "on_delivery": self._on_failure,
                    "throttle_cb": _note_quota,
                }
                | ({"transactional.id": transactional_id} if transactional_id is not None else {})
                | self._errors.callbacks
            )
        if transactional_id is not None:
            try:
                with self._errors.translated():
                    self._producer.init_transactions(INIT_TIMEOUT)
            except ClientError:
                self.close()
                raise

    def begin(self) -> None:
        with self._errors.translated():
            self._producer.begin_transaction()

    def send(
        self,
        topic: str,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        opaque: Any,
        timestamp: int = 0,
    ) -> None:
        # A callback for each message takes longer than sending it: only a producer that must name messages has them.
        on_delivery = functools.partial(self._on_failure, opaque=opaque) if self._sends_alone else None
        to = internals.NO_PARTITION if partition is None else partition
        end = 0.0
        while True:
            try:
                # by position, in the order of `internals.PRODUCE_ARGUMENTS`
                self._producer.produce(topic, value, key, to, on_delivery, None, timestamp, headers)
                break
            except BufferError as error:
                end = end or time.monotonic() + QUEUE_TIMEOUT
                if time.monotonic() > end:
                    raise ClientError(f"no room for a message to `{topic}`: the brokers do not take any") from error
                self._fetch_outcomes(LONGEST_WAIT)
            except KafkaException as error:
                if error.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE:
                    raise TooLarge(opaque, error.args[0].str()) from error
                self._fetch_outcomes(0)
                self._raise_refused()  # possibly why this one was refused
                if error.args[0].code() == KafkaError._STATE:  # of a transaction that has failed before
                    self._raise_cause()
                raise self._errors.translate(error.args[0], f"a message to `{topic}`") from error
        self._sent += 1
        if self._sent >= self._next_look:
            self._next_look = self._sent + self._make_room(size_of(key, value, headers or []))

    def _make_room(self, size: int) -> int:
        """Wait while too many messages of about this size are under way. Return after how many to do so again."""
        end = time.monotonic() + LONGEST_STOP
        while True:
            self._fetch_outcomes(0)
            room = self._quota.room(self._sent, len(self._producer), size)
            if room > 0 or self._failed or time.monotonic() > end:
                return int(min(max(1, room), MESSAGES_BETWEEN_REPORTS))
            with self._errors.translated():
                self._producer.flush(LONGEST_WAIT / 10)  # which sends at once what would wait for `linger.ms`

    def _on_failure(self, error: KafkaError, message: confluent_kafka.Message, opaque: Any = None) -> None:
        self._failed.append((opaque, error, message))

    def _fetch_outcomes(self, seconds: float) -> None:
        with self._errors.translated():
            self._producer.poll(seconds)

    def _raise_refused(self) -> None:
        found = [(error, message) for _, error, message in self._failed if error.code() in _BAD_TIMESTAMP]
        # all messages of a batch have the error of the one at fault
        for error, message in sorted(found, key=lambda pair: pair[1].key() is not None)[:1]:
            has_no_key = error.code() == KafkaError.INVALID_RECORD and message.key() is None
            raise BadTimestamp(f"a message to `{message.topic()}`: {error.str()}{NO_KEY * has_no_key}")
        for opaque, error, message in self._failed:
            if error.code() == KafkaError.MSG_SIZE_TOO_LARGE and self._sends_alone:
                raise TooLarge(opaque, larger_than_allowed(message.topic()))
            if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
                to = f"a batch of messages to `{message.topic()}`"
                limit = "keep `batch.size` below the `max.message.bytes` of this topic"
                raise TooLarge(None, f"{to} is too large for the broker, so they are sent one by one; {limit}")

    def flush(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        with self._errors.translated():
            while (left := self._producer.flush(LONGEST_WAIT)) and not self._failed and time.monotonic() < end:
                pass
        # `check` reports a failure. The other messages then wait for a transaction that cannot go on.
        if left and not self._failed:
            raise ClientError(f"{left} messages have no outcome after {seconds:g} s")

    def check(self) -> None:
        self._raise_refused()
        if self._failed:
            _, error, message = self._failed[0]
            if error.code() in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT):
                self._raise_cause()
            to = "" if message.partition() is None else f"partition {message.partition()} of "
            where = f"a message to {to}`{message.topic()}`"
            raise self._errors.translate(error, where, {"topic": f"`Write` on topic `{message.topic()}`"})
        if len(self._producer):
            raise no_outcome()

    def _raise_cause(self) -> None:
        """Raise why the transaction failed; every call reports it until the transaction is aborted."""
        topics = sorted({f"`{message.topic()}`" for _, _, message in self._failed})
        try:
            self._producer.begin_transaction()
        except KafkaException as error:
            of = f"topic {' and topic '.join(topics)}" if topics else "each topic of the outputs"
            permissions = {"topic": f"`Write` on {of}"}
            raise self._errors.translate(error.args[0], "", permissions) from error

    def send_offsets(
        self, topic: str, offsets: Mapping[int, Committed], ownership: Ownership, labels: str | None = None
    ) -> None:
        if ownership.generation < 0 or not ownership.member:
            raise no_generation()
        with self._errors.translated():
            add = self._producer.send_offsets_to_transaction
            seconds = self._transaction_timeout
            if not internals.returns_in_time(
                add, offsets_and_metadata(topic, offsets, ownership.epochs, labels), ownership.token, seconds=seconds
            ):
                raise ClientError(f"the coordinator of the group takes no offsets within {seconds:g} s")

    def commit(self) -> None:
        with self._errors.translated():
            self._producer.commit_transaction()

    def close(self) -> None:
        if self._producer is not None:
            internals.drop_messages_and_close(self._producer)
            self._producer = None


def _note_quota(event: confluent_kafka.ThrottleEvent) -> None:
    if event.throttle_time:  # that it has ended is told as well
        Quota.note(event.broker_id)
