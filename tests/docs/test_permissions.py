"""The permissions that docs/guarantees.md lists are enough, and none of them can be left out."""

import json
import re
import threading
import time
import uuid

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourcePattern, ResourceType

from connectors import config, kafka
from connectors.errors import AccessError
from connectors.kafka.local import LocalKafka
from connectors.runtime.stop import Stop
from connectors.tools import create_topics, produce, replay_rejects
from connectors.topics import check_broker, processor
from tests.helpers import streams
from tests.helpers.deadline import DEADLINE
from tests.helpers.streams import BOTH_CLIENTS, Stream, wait_for

GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",  # the broker itself has no name either
    "super.users": "User:nobody",
    "offsets.retention.minutes": 60,
}
NEEDED = {
    "input": (ResourceType.TOPIC, ACLOperation.READ),
    "output": (ResourceType.TOPIC, ACLOperation.WRITE),
    "rejects": (ResourceType.TOPIC, ACLOperation.WRITE),
    "configs of the input": (ResourceType.TOPIC, ACLOperation.DESCRIBE_CONFIGS),
    "group": (ResourceType.GROUP, ACLOperation.READ),
    "transactional id": (ResourceType.TRANSACTIONAL_ID, ACLOperation.WRITE),
}
WITH_LABELS = {"labels": (ResourceType.TOPIC, ACLOperation.READ), "outcomes": (ResourceType.TOPIC, ACLOperation.WRITE)}
WITH_MIXING = {
    "read of the mixing": (ResourceType.TOPIC, ACLOperation.READ),
    "write of the mixing": (ResourceType.TOPIC, ACLOperation.WRITE),
}

GRANT = {  # a topic that cannot be written may as well be found out by describing it
    "input": "topic `input-.*grant `Describe` on it",
    "output": "output-.*grant `Write` on|grant `Write` on topic `output-|topic `output-.*grant `Describe` on it",
    "rejects": "rejects-.*grant `Write` on|grant `Write` on .*`rejects-|topic `rejects-.*grant `Describe` on it",
    "configs of the input": "topic `input-.*grant `DescribeConfigs` on",
    "group": "grant `Read` on group `guarded-",
    "transactional id": "grant `Write` on transactional ids with the prefix `guarded-[0-9a-f]+:`",
    "labels": "topic `labels-.*grant `Describe` on it",
    "outcomes": "outcomes-.*grant `Write` on|grant `Write` on topic `outcomes-|topic `outcomes-.*grant `Describe`",
    "read of the mixing": "grant `Read` on topic `mixing-",
    "write of the mixing": "mixing-.*grant `Write` on|grant `Write` on topic `mixing-",
}


@pytest.fixture(scope="module")
def guarded():
    with LocalKafka(settings=GUARDED) as kafka:
        yield kafka


def permission(who, role, name):
    kind, operation = (NEEDED | WITH_LABELS | WITH_MIXING)[role]
    pattern = ACLResourcePatternType.PREFIXED if role == "transactional id" else ACLResourcePatternType.LITERAL
    allow = ACLPermissionType.ALLOW
    return ACL(f"User:{who}", "*", operation, allow, ResourcePattern(kind, name, pattern))


@pytest.fixture
def start(guarded, tmp_path):
    """Runs a processor that lacks a permission until its first outputs are there, or outcomes with labels."""

    def start(lacking, guarantee, has_labels=False, has_mixing=False):
        group = f"guarded-{uuid.uuid4().hex}"
        topics = {
            role: f"{role}-{group}" for role in ("input", "output", "rejects", *(WITH_LABELS if has_labels else ()))
        }
        mixing = f"mixing-{group}"
        guarded.create_topics(dict.fromkeys([*topics.values(), *[mixing] * has_mixing], 1))
        names = {**topics, "configs of the input": topics["input"], "group": group, "transactional id": f"{group}:"}
        names |= dict.fromkeys(WITH_MIXING if has_mixing else (), mixing)
        producer = KafkaProducer(bootstrap_servers=guarded.bootstrap_servers)
        for value in (json.dumps({"a": 1.0, "id": "r1"} | ({} if has_labels else {"y": True})), "no JSON"):
            producer.send(topics["input"], value.encode())
        if has_labels:
            producer.send(topics["labels"], b'{"of": "r1", "is": true}')
        if has_mixing:  # of an empty topic, the end is asked for, and nothing is read
            producer.send(mixing, None, f"{group}:0".encode())
        producer.close()
        awaited = topics["outcomes" if has_labels else "output"]
        reader = KafkaConsumer(
            awaited,
            bootstrap_servers=guarded.bootstrap_servers,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        reader.poll(0)
        with KafkaAdminClient(bootstrap_servers=guarded.bootstrap_servers) as admin:
            # A permission closes a resource to all others, so the reader's comes first: a kafka-python that is refused
            # once may never look for the topic again.
            seen = ResourcePattern(ResourceType.TOPIC, awaited)
            admin.create_acls([ACL("User:ANONYMOUS", "*", ACLOperation.READ, ACLPermissionType.ALLOW, seen)])
            admin.create_acls([permission("somebody", role, name) for role, name in names.items()])
            admin.create_acls([permission("ANONYMOUS", role, name) for role, name in names.items() if role != lacking])
        labels = f"""
labels: {{topic: {topics.get("labels")}, id: of, label: is, within: 1d, wait: 100ms}}
outcomes: {{topic: {topics.get("outcomes")}}}
"""
        file = tmp_path / "guarded.yaml"
        file.write_text(f"""
name: {group}
kafka: {{bootstrap_servers: "{guarded.bootstrap_servers}", client: {streams.CLIENT}}}
input: {{topic: {topics["input"]}}}
record: {{id: id, label: y}}
learner: [PAClassifier]
output: {{topic: {topics["output"]}}}
rejects: {{topic: {topics["rejects"]}}}
checkpoint: {{guarantee: {guarantee}, every: 100ms}}
snapshots: {{folder: {tmp_path}/snapshots{"" if has_labels else ", every: 1s"}}}
{labels if has_labels else ""}
{f"mixing: {{topic: {mixing}, every: 10ms}}" if has_mixing else ""}""")
        stop, done = Stop(), threading.Event()

        def wait_for_output():
            while not (done.is_set() or reader.poll(timeout_ms=100)):
                pass
            stop.request()

        waiting = threading.Thread(target=wait_for_output)
        waiting.start()
        try:
            return processor.run(config.load(file), stop)
        finally:
            done.set()
            waiting.join()
            reader.close()

    return start


@BOTH_CLIENTS
@pytest.mark.kafka
@pytest.mark.parametrize("guarantee", ["exactly_once", "at_least_once"])
def test_these_permissions_are_enough(start, guarantee):
    counts = start(None, guarantee)
    assert (counts.read, counts.predicted, counts.rejected) == (2, 1, 1)


@BOTH_CLIENTS
@pytest.mark.kafka
def test_these_permissions_are_enough_with_labels(start):
    counts = start(None, "exactly_once", has_labels=True)
    assert (counts.labels, counts.learned) == (1, 1)


@BOTH_CLIENTS
@pytest.mark.kafka
@pytest.mark.parametrize("lacking", list(WITH_LABELS))
def test_none_of_labels_can_be_left_out(start, lacking):
    with pytest.raises(AccessError, match="refuses") as refused:
        start(lacking, "exactly_once", has_labels=True)
    assert re.search(GRANT[lacking], str(refused.value))


@BOTH_CLIENTS
@pytest.mark.kafka
@pytest.mark.parametrize("lacking", list(NEEDED))
def test_none_can_be_left_out(start, lacking):
    with pytest.raises(AccessError, match="refuses") as refused:
        start(lacking, "exactly_once")
    assert re.search(GRANT[lacking], str(refused.value))


@BOTH_CLIENTS
@pytest.mark.kafka
@pytest.mark.parametrize("lacking", [None, *WITH_MIXING])
def test_mixing_needs_both_permissions(start, lacking):
    if lacking is None:
        assert start(None, "exactly_once", has_mixing=True).predicted == 1
        return
    with pytest.raises(AccessError, match="refuses") as refused:
        start(lacking, "exactly_once", has_mixing=True)
    assert re.search(GRANT[lacking], str(refused.value))


@BOTH_CLIENTS
@pytest.mark.kafka
def test_topics_are_not_created_without_permission(guarded, tmp_path, client):
    stream = Stream(guarded, tmp_path)
    topic = f"{stream.name}-new"
    pattern = ResourcePattern(ResourceType.TOPIC, topic)
    with stream.admin() as admin:
        admin.create_acls([ACL("User:somebody", "*", ACLOperation.CREATE, ACLPermissionType.ALLOW, pattern)])
    with pytest.raises(AccessError, match=r"grant `(Create|Describe)` on"):
        create_topics.create(stream.config(output={"topic": topic}))


@BOTH_CLIENTS
@pytest.mark.kafka
@pytest.mark.parametrize("lacking", [None, ACLOperation.DESCRIBE])
def test_creating_topics_needs_describe_too(guarded, tmp_path, client, lacking):
    stream = Stream(guarded, tmp_path)
    topic = f"{stream.name}-new"
    pattern = ResourcePattern(ResourceType.TOPIC, topic)
    granted = [("somebody", ACLOperation.CREATE)]  # which closes the topic to all others
    granted += [("ANONYMOUS", each) for each in (ACLOperation.CREATE, ACLOperation.DESCRIBE) if each is not lacking]
    with stream.admin() as admin:
        admin.create_acls([ACL(f"User:{who}", "*", each, ACLPermissionType.ALLOW, pattern) for who, each in granted])
    file = stream.config(output={"topic": topic})
    if lacking is None:
        assert [each.name for each in create_topics.create(file) if each.replicas] == [topic]
        return

    def is_refused():  # the broker hears of a permission a moment after it was given
        try:
            return not create_topics.look(file, [topic])
        except AccessError:
            return True

    wait_for(is_refused, "the permissions")
    with pytest.raises(AccessError, match="grant `Describe` on"):
        create_topics.create(file)


@BOTH_CLIENTS
@pytest.mark.kafka
def test_a_send_says_why_an_earlier_one_was_refused(guarded, tmp_path, client):
    """With many records in a commit, the next `send` meets the refusal, and not the end of the transaction."""
    stream = Stream(guarded, tmp_path, partitions=1)
    with stream.admin() as admin:
        pattern = ResourcePattern(ResourceType.TOPIC, stream.output)
        admin.create_acls([ACL("User:ANONYMOUS", "*", ACLOperation.DESCRIBE, ACLPermissionType.ALLOW, pattern)])
    settings = stream.config().kafka.producer_settings
    producer = kafka.client(streams.CLIENT).Producer(f"{stream.name}:", settings)
    end = time.monotonic() + DEADLINE
    try:
        producer.begin()
        with pytest.raises(kafka.NotPermitted, match="grant `Write` on"):
            while time.monotonic() < end:
                producer.send(stream.output, 0, None, b"{}", [], (0, 0, stream.output))
                time.sleep(0.01)
    finally:
        producer.close()


@BOTH_CLIENTS
@pytest.mark.kafka
def test_commands_name_a_missing_permission_once(guarded, tmp_path, client):
    """`produce` and `replay-rejects` of a user who may read the input, and not write to it."""
    stream = Stream(guarded, tmp_path, partitions=1)
    reject = [("reason", b"not JSON"), ("source", f"{stream.input}-0-0".encode())]
    with KafkaProducer(bootstrap_servers=guarded.bootstrap_servers) as producer:
        producer.send(stream.rejects, b"{", headers=reject)
    pattern = ResourcePattern(ResourceType.TOPIC, stream.input)
    with stream.admin() as admin:
        admin.create_acls([ACL("User:ANONYMOUS", "*", ACLOperation.READ, ACLPermissionType.ALLOW, pattern)])
    (data := tmp_path / "data.jsonl").write_text('{"a": 1}\n')
    for command in (
        lambda: produce.produce(stream.config(), str(data)),
        lambda: replay_rejects.replay(stream.config()),
    ):
        with pytest.raises(AccessError) as refused:
            command()
        assert str(refused.value).count("grant `Write` on") == 1 and f"`{stream.input}`" in str(refused.value)


@BOTH_CLIENTS
@pytest.mark.kafka
def test_lint_names_each_permission_that_lacks(guarded, tmp_path, client):
    """With `--check-broker`, and nothing else but how soon this broker forgets offsets."""
    stream = Stream(guarded, tmp_path, snapshots={"folder": str(tmp_path / "snapshots"), "every": "30s"})

    def problems():
        return [finding for finding in check_broker.check(stream.config()) if finding.kind]

    names = {"input": stream.input, "output": stream.output, "rejects": stream.rejects}
    names |= {"configs of the input": stream.input, "group": stream.name, "transactional id": f"{stream.name}:"}
    (forgets,) = map(str, problems())
    assert "forget the offsets" in forgets and "60 minutes" in forgets and "1440" in forgets
    with KafkaAdminClient(bootstrap_servers=guarded.bootstrap_servers) as admin:
        admin.create_acls([permission("somebody", role, name) for role, name in names.items()])
        found = [finding for finding in problems() if "forget" not in finding.sentence]
        said = sorted(finding.sentence for finding in found)
        assert check_broker.exit_code(found) == 6
        wanted = [
            f"grant `DescribeConfigs` on topic `{stream.input}` (input) to this user",
            f"grant `Read` on group `{stream.name}` to this user",
            f"grant `Read` on topic `{stream.input}` (input) to this user",
            f"grant `Write` on topic `{stream.output}` (output) to this user",
            f"grant `Write` on topic `{stream.rejects}` (rejects) to this user",
            f"grant `Write` on transactional ids with the prefix `{stream.name}:` to this user",
        ]
        assert len(said) == len(NEEDED) == len(wanted)
        assert all(sentence.startswith(start) for sentence, start in zip(said, wanted, strict=True)), said
        admin.create_acls([permission("ANONYMOUS", role, name) for role, name in names.items()])
    notes = [str(finding) for finding in check_broker.check(stream.config()) if not finding.kind]
    assert list(map(str, problems())) == [forgets]
    assert any("needs `DescribeConfigs` on topic" in note for note in notes)
