"""A producer on kafka-python, with the defects of that library fenced in.

- Each send is checked before a commit: the library commits a transaction in which a record has expired.
- A failure is raised by the next send: without transactions, the library never sends again after some that it tells
  nobody of.
- A producer is never used again after an error: what it holds of the failed transaction may go into the next one.
- The library takes any number of messages, also if a quota lets the brokers take them slowly: `send` waits then.
- What the library has no public way for is in `connectors.kafka.kafka_python.internals`.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

from kafka import KafkaProducer
from kafka import errors as kafka_errors
from kafka.codec import has_lz4, has_snappy, has_zstd

from connectors.errors import StartError
from connectors.kafka import BadTimestamp, ClientError, Committed, Headers, Ownership, TooLarge
from connectors.kafka.errors import larger_than_allowed, no_generation, no_outcome, producer_permissions
from connectors.kafka.kafka_python import internals
from connectors.kafka.kafka_python.consumer import offsets_and_metadata
from connectors.kafka.kafka_python.errors import translate, translated
from connectors.kafka.kafka_python.settings import PRODUCER
from connectors.kafka.quota import LONGEST_STOP, Quota, size_of

MESSAGES_BETWEEN_LOOKS = 1_000  # after as many, futures of acknowledged messages are dropped, and a quota is noticed
SHORT_WAIT = 0.01  # seconds of one wait for outcomes
PACKAGES = {"lz4": (has_lz4, "lz4"), "snappy": (has_snappy, "python-snappy"), "zstd": (has_zstd, "zstandard")}
_BAD_TIMESTAMP = (kafka_errors.InvalidTimestampError, kafka_errors.InvalidRecordError)
_TOO_LARGE = (kafka_errors.MessageSizeTooLargeError, kafka_errors.RecordListTooLargeError)


class Producer:
    """An idempotent producer, transactional with a `transactional_id`; `settings` are those of KafkaProducer."""

    def __init__(self, transactional_id: str | None, settings: Mapping[str, Any]) -> None:
        self._sent: list[Any] = []
        self._quota, self._taken, self._next_look = Quota(), 0, 0
        self._failed: list[tuple[Any, str, Exception]] = []
        self._permissions = producer_permissions(transactional_id)
        _check_compression(settings)
        with translated(self._permissions):
            self._producer: KafkaProducer = internals.connected(
                KafkaProducer,
                **PRODUCER | dict(settings),
                transactional_id=transactional_id,
                enable_idempotence=True,
                acks="all",
                allow_auto_create_topics=False,
            )
        internals.never_create_produced_topic(self._producer)
        internals.wait_for_leaders(self._producer)
        if transactional_id is not None:
            internals.survive_refused_coordinator(self._producer)
            internals.never_bump_epoch(self._producer)
            try:
                with self._checked():
                    self._producer.init_transactions()
            except ClientError:
                self.close()
                raise

    @contextlib.contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except (kafka_errors.KafkaError, OSError, ValueError) as error:
            raise self._explain(error) from error

    def _explain(self, error: Exception) -> ClientError:
        return translate(error, internals.transaction_error(self._producer), self._permissions)

    def begin(self) -> None:
        with self._checked():
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
        if self._failed:  # the library may send nothing any more, and keeps what it is given, up to the next `check`
            self._raise_failure()
        try:
            if key is None and value is None:
                with internals.null_message(self._producer) as marked_value:
                    future = self._send(topic, marked_value, key, headers, partition, timestamp or None)
            else:
                future = self._send(topic, value, key, headers, partition, timestamp or None)
            future.add_errback(self._note, opaque, topic)
            self._sent.append(future)
            if len(self._sent) >= self._next_look:
                self._next_look = self._make_room(size_of(key, value, headers or []))
        except kafka_errors.MessageSizeTooLargeError as error:
            raise TooLarge(opaque, str(error)) from error
        except (kafka_errors.KafkaError, ValueError) as error:
            self._raise_refused()  # possibly why this one was refused
            raise self._explain(error) from error

    def _send(self, topic: str, value: bytes | None, key: bytes | None, headers: Headers, *place: int | None) -> Any:
        try:
            return self._producer.send(topic, value, key, headers, *place)
        except TypeError:
            with internals.null_headers(self._producer, headers) as marked:
                return self._producer.send(topic, value, key, marked, *place)

    def _make_room(self, size: int) -> int:
        """Wait while too many messages of about this size are under way. Return at how many to do so again."""
        end = time.monotonic() + LONGEST_STOP
        while True:
            before = len(self._sent)
            # only what was acknowledged has a value; `check` needs the others
            self._sent = [future for future in self._sent if future.value is None]
            under_way = len(self._sent)
            self._taken += before - under_way
            self._notice_quota()
            room = self._quota.room(self._taken + under_way, under_way, size)
            if room > 0 or self._failed or time.monotonic() > end:
                return under_way + int(min(max(1, room), MESSAGES_BETWEEN_LOOKS))
            with contextlib.suppress(kafka_errors.KafkaTimeoutError, kafka_errors.UnknownError):
                self._producer.flush(SHORT_WAIT)  # which sends at once what would wait for `linger_ms`

    def _notice_quota(self) -> None:
        if (broker := internals.throttled_by(self._producer)) is not None:
            Quota.note(broker)

    def _note(self, opaque: Any, topic: str, error: Exception) -> None:
        self._failed.append((opaque, topic, error))

    def _raise_refused(self) -> None:
        # The others of its batch fail because of it, and some of them come first.
        for _, topic, error in self._failed:
            if isinstance(error, _BAD_TIMESTAMP):
                raise BadTimestamp(f"a message to `{topic}`: {error}") from error
        # One failure ends the transaction, and the library then fails all that were not sent yet with the same error.
        for opaque, topic, error in self._failed[:1]:
            if isinstance(error, _TOO_LARGE):
                raise TooLarge(opaque, larger_than_allowed(topic)) from error

    def _raise_failure(self) -> None:
        self._raise_refused()
        for _, _, error in self._failed[:1]:
            raise self._explain(error) from error

    def flush(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with self._checked():
            while True:
                try:
                    return self._producer.flush(timeout=0.5)
                except (kafka_errors.KafkaTimeoutError, kafka_errors.UnknownError):
                    # the library splits a batch that the broker found too large, and its own future never ends; and
                    # after a failure, which `check` reports, the others may have no outcome, either
                    if self._failed or all(future.is_done for future in self._sent):
                        return None
                    if time.monotonic() > deadline:
                        raise
                finally:
                    self._notice_quota()

    def check(self) -> None:
        self._raise_failure()
        for future in self._sent:
            if not future.is_done:
                raise no_outcome()
            if future.exception is not None:
                raise self._explain(future.exception) from future.exception
        self._taken, self._sent, self._next_look = self._taken + len(self._sent), [], 0

    def send_offsets(
        self, topic: str, offsets: Mapping[int, Committed], ownership: Ownership, labels: str | None = None
    ) -> None:
        if ownership.token.generation_id < 0 or not ownership.token.member_id:
            raise no_generation()
        with self._checked():
            self._producer.send_offsets_to_transaction(
                offsets_and_metadata(topic, offsets, ownership.epochs, labels), ownership.token
            )

    def commit(self) -> None:
        with self._checked():
            self._producer.commit_transaction()

    def close(self) -> None:
        internals.close_at_once(self._producer)


def _check_compression(settings: Mapping[str, Any]) -> None:
    """Raise StartError if the package is missing that compresses: the library would say so after it has connected."""
    name = settings.get("compression_type")
    is_there, package = PACKAGES.get(name or "", (lambda: True, ""))
    if not is_there():
        raise StartError(
            f"`compression_type: {name}` needs a package: `pip install {package}`; or take another one, or `client: "
            "confluent`, which has all of them"
        )
