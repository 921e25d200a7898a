"""Labels that come later, for the torture: what is fed to both topics, and the judge of what came of it."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from connectors.config import Config
from connectors.labels import state, waiting_files
from connectors.labels.merging import Side
from connectors.labels.waiting import Position, WaitingRecords
from connectors.snapshots.check_learner import note_of
from connectors.snapshots.stores import FolderStore
from connectors.tools import referee
from tests.helpers.late_labels import Bare, bare
from tests.torture import grammar
from tests.torture.group import Event, records
from tests.torture.referee import Judgement, committed_models, difference, store_folder

STEP = 50  # milliseconds of event time from one record to the next
WITHIN = 60_000
PENDING = 200  # fewer than come to a partition within WITHIN: while labels stay away, records are evicted
EACH, AWAY = 3_000, 1_200  # of so many records, so many get no label
SECTION = {"id": "of", "label": "is", "within": f"{WITHIN}ms", "pending": PENDING, "otherwise": False}
PROMOTED = "other"
CALM = 100  # records before the first hostile one: they say what a label is
NO_LABELS: list[Any] = ["true", [], {"a": 1}, None, 2.5, ""]
HOSTILE_LABELS = [
    b'{"of": "r7", "is": NaN}', b'{"of": null, "is": true}', b'{"of": {"a": 1}, "is": true}', b"\xff", b"",
    b'{"of": 1e999, "is": true}', b'{"of": "\\ud800", "is": true}', b'{"is": true}', b"[" * 5000,
    b'{"of": "r7", "of": "r9", "is": true',
]  # fmt: skip


def events(count: int, seed: int, begin: int) -> list[Event]:
    """So many records, and labels of every kind, in the order of their moments; `begin` is the first, in milliseconds.

    Some timestamps are not those of their moments, so that the times of a topic go back.
    """
    draw = random.Random(seed)
    hostile = (each for each in grammar.records(10 * count, seed, 0) if _is_hostile(each))
    found = list(chain.from_iterable(_around(draw, n, value, hostile) for n, value in enumerate(records(count, seed))))
    found = [event for event in found if event.time <= count * STEP]  # at the end, some wait
    found.sort(key=lambda event: event.time)
    shifts = (draw.choice([0] * 18 + [-400, 300]) for _ in found)
    return [event._replace(time=begin + event.time + shift) for event, shift in zip(found, shifts, strict=True)]


def _is_hostile(record: grammar.Hostile) -> bool:
    return record.destiny in (grammar.REJECT, grammar.BOTH) and len(record.value or b"") < grammar.LARGE // 100


def _around(draw: random.Random, n: int, value: bytes, hostile: Iterator[grammar.Hostile]) -> Iterator[Event]:
    """The record of number n, and the labels that have to do with it."""
    fields, at = json.loads(value), n * STEP
    label, key = fields.pop("label"), f"k{n % 7}".encode()
    if n % 20 == 0:
        fields["label"] = label  # learned at once, and what comes later is a second label
    if n > CALM and draw.random() < 0.02:
        record = next(hostile)
        yield Event(n, Side.RECORDS, at, record.key, record.value, record.headers)
    else:
        yield Event(n, Side.RECORDS, at, key, json.dumps(fields).encode())
    for delay, content in _labels(draw, n, label):
        yield Event(
            n, Side.LABELS, max(0, at + delay), key, json.dumps(content).encode(), [("h", b"\xff")] * (n % 5 == 0)
        )
    if draw.random() < 0.02:
        record = next(hostile)
        value = draw.choice([record.value, *HOSTILE_LABELS])
        yield Event(n, Side.LABELS, at, record.key if value is not None else key, value, record.headers)


def _labels(draw: random.Random, n: int, label: bool | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """The labels of a record, with their delays: in time, before it, too late, twice, for nobody."""
    of = f"r{n}"
    if draw.random() < 0.03:
        yield draw.randrange(WITHIN), {"of": f"nobody{n}", "is": True}
    if label is None or n % EACH >= EACH - AWAY:
        return
    kind = draw.random()
    if kind < 0.70:
        yield draw.choice([0, 1, 50, 500, 5_000, draw.randrange(WITHIN), WITHIN]), {"of": of, "is": label}
    elif kind < 0.82:
        yield -draw.choice([1, 50, 2_000, draw.randrange(2 * WITHIN)]), {"of": of, "is": label}
    elif kind < 0.88:
        yield WITHIN + draw.choice([1, 50, draw.randrange(2 * WITHIN)]), {"of": of, "is": label}
    elif kind < 0.92:
        yield draw.randrange(5_000), {"of": of, "is": draw.choice(NO_LABELS)}
    if draw.random() < 0.08:
        yield draw.randrange(-5_000, 2 * WITHIN), {"of": of, "is": not label}


def with_drift(then: str) -> dict[str, Any]:
    """The sections of a file with queries, a challenger, and a detector that sees a drift now and then."""
    return {
        "learner": {"name": "first", "steps": ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}]},
        "challengers": {PROMOTED: ["StandardScaler", "AROWClassifier"]},
        "queries": {
            "sampler": {"RandomizedSelectiveSampler": {"b": 0.5, "seed": 3}}, "at_most": "30 per 100",
            "waits": "asked" if then == "reset" else "all",
        },
        "drift": {
            "detector": {"PageHinkley": {"threshold": 2.0, "min_instances": 20}},
            "then": {"promote": PROMOTED} if then == "promote" else then,
        },
    }  # fmt: skip


class Found(NamedTuple):
    """A message as the bare route has it: by `id` it is known, and `content` must be the same."""

    id: str
    content: Any


def bares(config: Config) -> dict[int, Bare]:
    """The bare route of each partition, for what is in both topics."""
    return _bares(config, *_read(config))


def judge(config: Config) -> Judgement:
    """Compares outputs, outcomes and rejects, and the models and what waits, with the bare route in the order of times.

    An output tells in its headers how many examples were learned before, so it tells which labels came before it.
    """
    assert config.outcomes is not None and config.rejects is not None
    inputs, labels = _read(config)
    routes = _bares(config, inputs, labels)
    verdict = referee.Verdict(inputs=sum(map(len, [*inputs.values(), *labels.values()])))
    keys = {_name(message): message.key for message in chain(*inputs.values(), *labels.values())}
    outputs, outcomes, rejects = (
        referee.read_topic(config, each.topic) for each in (config.output, config.outcomes, config.rejects)
    )
    verdict.outputs, verdict.rejects = len(outputs), len(rejects)
    expected = [[Found(name, (value, keys[name], n)) for name, value, n in each.outputs] for each in routes.values()]
    _compare(verdict, "output", expected, map(_output, outputs), outputs)
    expected = [[Found(of, (value, keys[of], name)) for name, of, value in each.outcomes] for each in routes.values()]
    _compare(verdict, "outcome", expected, map(_outcome, outcomes), outcomes)
    expected = [[Found(name, (value, why)) for name, why, value in each.rejects] for each in routes.values()]
    _compare(verdict, "reject", expected, map(_reject, rejects), rejects)
    if config.queries is not None:
        queries = referee.read_topic(config, config.queries.topic)
        expected = [[Found(name, (value, keys[name])) for name, value in each.queries] for each in routes.values()]
        _compare(verdict, "query", expected, map(_query, queries), queries)
    for number, route in routes.items():
        _account(verdict, number, len(inputs.get(number, [])), len(labels.get(number, [])), route)
    return Judgement(verdict, list(_models(config, routes)))


def _account(verdict: referee.Verdict, number: int, records: int, labels: int, route: Bare) -> None:
    """Checks the bare route itself: a record has an output or a reject; a label an outcome or a reject, or it waits."""
    settled = {of for _, of, _ in route.outcomes} | {name for name, *_ in route.rejects}
    sources = {name for name, *_ in route.outputs} | settled
    if len(sources) + len(route.waiting.labels) != records + labels:
        verdict.lost += abs(records + labels - len(sources) - len(route.waiting.labels))
        verdict.note(
            f"partition {number}: {records} records and {labels} labels, and {len(sources)} of them in the topics"
        )


def _output(message: Any) -> Found:
    examples = int(_said(message, "model").rpartition("/")[2])
    return Found(_said(message, "source"), (message.value, message.key, examples))


def _outcome(message: Any) -> Found:
    return Found(_said(message, "label"), (message.value, message.key, _said(message, "source")))


def _query(message: Any) -> Found:
    return Found(_said(message, "source"), (message.value, message.key))


def _reject(message: Any) -> Found:
    """What was rejected without key and value has an empty value."""
    value = None if "null" in dict(message.headers) else message.value
    return Found(_said(message, "source"), (value, _said(message, "reason")))


def _read(config: Config) -> tuple[dict[int, list[Any]], dict[int, list[Any]]]:
    assert config.labels is not None
    return _by_partition(config, config.input.topic), _by_partition(config, config.labels.topic)


def _bares(config: Config, inputs: dict[int, list[Any]], labels: dict[int, list[Any]]) -> dict[int, Bare]:
    numbers = sorted({*inputs, *labels})
    return {number: bare(config, number, inputs.get(number, []), labels.get(number, [])) for number in numbers}


def _by_partition(config: Config, topic: str) -> dict[int, list[Any]]:
    found = defaultdict(list)
    for message in referee.read_topic(config, topic):
        found[message.partition].append(message)
    return found


def _name(message: Any) -> str:
    return f"{message.topic}-{message.partition}-{message.offset}"


def _said(message: Any, header: str) -> str:
    return (dict(message.headers).get(header) or b"").decode()


def _compare(
    verdict: referee.Verdict,
    what: str,
    expected: Sequence[Sequence[Found]],
    found: Iterable[Found],
    messages: Sequence[Any],
) -> None:
    """Compares messages of all partitions, in their order, with what each partition must have."""
    contents, places, pairs = dict(chain(*expected)), {}, list(zip(messages, found, strict=True))
    for each in expected:
        places |= {one.id: place for place, one in enumerate(each)}
    counts = Counter(one.id for _, one in pairs)
    for lost in contents.keys() - counts.keys():
        verdict.lost += 1
        verdict.note(f"{lost} has no {what}")
    for twice in (id for id, count in counts.items() if count > 1):
        verdict.doubled += 1
        verdict.note(f"{twice} has {counts[twice]} of {what}")
    last: dict[Any, int] = {}
    for message, (id, content) in pairs:
        if id not in contents:
            verdict.foreign += 1
            verdict.note(f"{id} has a {what}, and the bare route has none: {content}")
            continue
        if content != contents[id]:
            verdict.different += 1
            verdict.note(f"{id}: the {what} is {content}, that of the bare route {contents[id]}")
        partitions = message.partition, id.rpartition("-")[0]
        if places[id] < last.get(partitions, -1):
            verdict.disordered += 1
            verdict.note(f"{id}: its {what} comes after a later one of its partition")
        last[partitions] = places[id]


def _models(config: Config, routes: dict[int, Bare]) -> Iterator[str]:
    """What is wrong with the models that the committed offsets name, and with what waits."""
    assert config.labels is not None
    bounds = config.labels.within_ms, config.labels.pending
    watches = [route.model.watch for route in routes.values() if route.model.watch is not None]
    if watches and not any(watch.past.drifts for watch in watches):
        yield "no drift was seen in any partition, so nothing was tried"
    ends = {number: each for number, *each, _ in committed_models(config, config.labels.topic)}
    for number, end, committed, pointer in committed_models(config, config.input.topic):
        name, (end_of_labels, labels) = f"partition {number}", ends[number]
        if (committed, labels) != (end, end_of_labels):
            yield f"{name}: committed are {committed} and {labels}, the ends are {end} and {end_of_labels}"
            continue
        if number not in routes:
            continue
        if found := difference(config, number, pointer, [], routes[number].learner):
            yield f"{name}: {found}"
        file = store_folder(config, number) / f"{pointer['snapshot']}.snapshot"
        if file.read_bytes() != routes[number].model.dumps(note_of(config.record)):  # challengers and drift are in it
            yield f"{name}: the bytes of its snapshot are not those of the bare models"
        store = FolderStore(store_folder(config, number).parent)
        files = waiting_files.read(store, number, pointer["snapshot"], pointer["waiting"], *bounds)
        if _bytes(files.records) != _bytes(routes[number].waiting):
            counts = [[len(part) for part in state.parts_of(each)] for each in (files.records, routes[number].waiting)]
            yield f"{name}: what waits is not what the bare route leaves (records, labels, ids: {counts})"


def _bytes(waiting: WaitingRecords) -> tuple[bytes, bytes]:
    return state.write_manifest(waiting), state.write_segment(waiting, Position())
