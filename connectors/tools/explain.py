"""Explains a processor in plain words: what it reads, learns and writes, and what happens after a crash."""

import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
from river import base, compose

from connectors.config import Config, FileConfig
from connectors.config.files_schema import STANDARD, LabelsFile, OutcomesFile, QueriesFile
from connectors.config.schema import Record
from connectors.config.value_types import PROBABILITY, spelled
from connectors.model.field_paths import named
from connectors.tools.schema import score_of
from river_margins import river_internals, snapshot

WIDTH = 100


def explain(config: Config | FileConfig) -> str:
    """Return paragraphs about a processor, each with its heading."""
    parts = _of_files(config) if isinstance(config, FileConfig) else _of_topics(config)
    return "\n\n".join(f"{heading}\n{_lines(sentences)}" for heading, sentences in parts)


def _lines(sentences: list[str]) -> str:
    # Paths and names stay whole, so that they can be copied.
    wrapper = textwrap.TextWrapper(
        WIDTH, initial_indent="  - ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(wrapper.fill(sentence) for sentence in sentences if sentence)


def _of_topics(config: Config) -> Iterator[tuple[str, list[str]]]:
    reads, writes = config.input.topic, config.output.topic
    first = "the oldest record" if config.input.start == "earliest" else "the first record after its start"
    yield (
        "Input",
        [
            f"It reads the topic `{reads}` at `{config.kafka.bootstrap_servers}` with {config.kafka.client}, committed "
            f"records only, as the consumer group `{config.name}`.",
            f"A group that has never committed starts with {first}; later starts continue after the last commit.",
            "Processes that run the same file share the partitions. Each partition has a model of its own, and its "
            "records are processed in their order. "
            + (
                "A partition that the topic gets later begins with a new model, at its first record."
                if config.input.new_partitions == "start"
                else "If the topic gets more partitions, the processor ends with exit code 4."
            ),
        ],
    )
    yield "Records", _records(config)
    yield "Learner", _learner(config)
    yield (
        "Output",
        [
            f"Each record becomes one message in `{writes}`, with the key of the record, in the partition of the same "
            f"number if `{writes}` has as many: id, prediction, score, and label if known.",
            "The headers of the record come first, as they are. Then `source` names the record, and `model` the "
            "snapshot and number of examples of the model. "
            + (
                "The timestamp is that of the record."
                if config.output.timestamp == "input"
                else "The timestamp is the time of writing."
            ),
        ],
    )
    yield (
        "Rejects",
        [
            "A record that cannot be processed leaves the model as it was, bit for bit. One whose label cannot be "
            "learned is predicted all the same, and is both in the output and in the rejects.",
            f"A rejected record goes to `{config.rejects.topic}` with its bytes and headers, and a header `reason`."
            if config.rejects
            else "A rejected record is only logged and counted: there is no `rejects` topic.",
        ],
    )
    yield "Checkpoint", _checkpoint(config)
    yield "Snapshots", _snapshots(config)
    yield "When it crashes", _crash(config)
    yield "What others must do", _others(config)


def _records(config: Config | FileConfig) -> list[str]:
    record = config.record
    identity = f"its field `{record.id}`" if record.id else "its key" if config.labels else "its position"
    label = (
        f"The field `{record.label}` is the label. A record with a label is first predicted and then learned; a record "
        "without one, or with null, is only predicted."
        if record.label
        else "No field of the record is the label (`record.label`): every record waits for its label."
        if config.labels
        else "No field is the label (`record.label`): every record is predicted, and nothing is ever learned."
    )
    if record.weight:
        label += f" The field `{record.weight}` is how much a loss on the record costs; 1 if it is absent or null."
    pairs = named(record.features or ())
    listed = [f"`{name}`" + (f" (the field `{path.name}`)" if name != path.name else "") for name, path in pairs]
    nulls = {
        "absent": " A feature that is null counts as absent.",
        "reject": " A record with a feature that is null is rejected.",
        None: "",
    }
    features = f"Features are {', '.join(listed) or _all_fields(record)}.{nulls[record.nulls]}"
    return [f"A record is identified by {identity}. {features}", label, *_labels(config)]


def _all_fields(record: Record) -> str:
    """Return which fields are features if the file lists none: a path takes its whole field away."""
    given = [f"`{text}`" for text in (record.id, record.label, record.weight, record.time) if text]
    return f"all fields but those that hold {_and(list(dict.fromkeys(given)))}" if given else "all fields"


def _labels(config: Config | FileConfig) -> list[str]:
    labels = config.labels
    if labels is None:
        return []
    reads = f"the file `{labels.file}`" if isinstance(labels, LabelsFile) else f"the topic `{labels.topic}`"
    names = f"its field `{labels.id}`" if labels.id else "its key"
    missing = (
        "is not learned"
        if labels.otherwise is None
        else f"is learned with the label `{orjson.dumps(labels.otherwise).decode()}`"
    )
    outcomes = config.outcomes
    written = "" if outcomes is None else f"`{outcomes.file if isinstance(outcomes, OutcomesFile) else outcomes.topic}`"
    return [
        f"Labels come later, from {reads}: {names} names the record, and its field `{labels.label}` is the label. "
        "Records and labels are taken in the order of their times, labels first at the same time.",
        f"A record waits {spelled(labels.within)} for its label, and at most {labels.pending:,} records wait; the "
        "oldest are evicted. When its label comes, exactly the features that were predicted are learned, and the "
        f"prediction made then is judged. One whose label does not come {missing}.",
        *([f"What became of a record goes to {written} when its label comes."] if written else []),
        *_queries(config),
    ]


def _queries(config: Config | FileConfig) -> list[str]:
    queries = config.queries
    if queries is None:
        return []
    written = f"the file `{queries.file}`" if isinstance(queries, QueriesFile) else f"the topic `{queries.topic}`"
    sampler, (most, records) = config.build_sampler(), queries.at_most
    given = {name: value for name, value in river_internals.parameters(sampler).items() if name != "classifier"}
    parameters = ", ".join(f"{name}={value!r}" for name, value in given.items())
    others = "wait, too" if queries.all_wait else "do not wait, and a label for them is rejected"
    return [
        f"{type(sampler).__name__}({parameters}) decides for which records the label is asked for: "
        f"{_first_sentence(sampler)} Of {records:,} records in a row, at most {most:,} go to {written}, in the same "
        f"step as their output. Records that were not asked for {others}."
    ]


def _learner(config: Config | FileConfig) -> list[str]:
    learner = config.first_learner()
    steps = list(learner.steps.values()) if isinstance(learner, compose.Pipeline) else [learner]
    sentences = []
    for step in steps:
        given = river_internals.parameters(step).items()  # in which a learner is its class and its parameters
        parameters = ", ".join(f"{name}={_said(getattr(step, name, value))}" for name, value in given)
        sentences.append(f"{type(step).__name__}({parameters}): {_first_sentence(step)}")
    sentences.append(f"Guarantee: {_guarantee(steps[-1])}")
    if config.start_from is not None:
        sentences.append(f"A new model starts as the one in the snapshot `{config.start_from}`.")
    sentences.append(score_of(config).sentence)
    if config.output.score == PROBABILITY:
        sentences.append("It holds probabilities: a number alone is that of `true`, or of the second of two `classes`.")
    if config.output.explain:
        sentences.append(f"Each output names up to {config.output.explain} features that weighed most in its score.")
    mixing = _mixing(config)
    same = mixing or ["The same records in the same order give the same model, bit for bit."]
    sentences += [*_challengers(config), *_drift(config)]
    kind = "numbers" if isinstance(steps[-1], base.Regressor) else "classes"
    return [*sentences, f"It predicts {kind}.", *same]


def _challengers(config: Config | FileConfig) -> list[str]:
    if not config.challengers:
        return []
    said = " Each output also has their predictions." if config.output.challengers else ""
    others = config.challengers.values()
    starts = " or from its `start_from`" if any(each.snapshot for each in others) else ""
    if any(each.reads_input for each in others):
        starts += ", or reads the input from its beginning before it takes part"
    return [
        *(
            f"Challenger `{name}`: {snapshot.describe(snapshot.dumps(learner))[0]}"
            for name, learner in config.first_learners().items()
            if name != config.champion
        ),
        f"The challengers predict and learn each record that `{config.champion}` learns; its prediction is the output."
        f"{said} What a challenger refuses is counted, and changes nothing for the others. `river-margins compare` "
        "prints who is better.",
        "All models are in one snapshot, kept apart by their names: they exchange their roles when the file does, a "
        f"new challenger starts empty{starts}, and one that is taken out is dropped.",
    ]


def _drift(config: Config | FileConfig) -> list[str]:
    plan = config.drift_plan
    if plan is None:
        return []
    name = f"`{config.champion}`" if config.champion else "the model"
    does = {
        "warn": "A drift is reported, and changes nothing else.",
        "reset": f"After a drift {name} begins anew, untrained, with the next record.",
        "promote": f"After a drift `{plan.promotes}` is the champion: it exchanges its role with {name}, also over a "
        f"restart, until the file names another `learner`. If it is the champion already, nothing changes.",
    }
    loss = "the loss of the champion on each judged record, 1 for a wrong class or the absolute error of a number,"
    return [
        f"{plan.named} watches {loss} and sees a drift when it has risen. {does[plan.then]} Each drift is in the log, "
        "in the metric `river_margins_drift_total` and in the snapshot; the same records lead to the same drifts."
    ]


def _mixing(config: Config | FileConfig) -> list[str]:
    if isinstance(config, FileConfig) or config.mixing is None:
        return []
    return [
        f"Mixing: every {config.mixing.every:g} s, within a checkpoint, the model of each partition that has read "
        f"records becomes the mean of its own and of those that the others have published in `{config.mixing.topic}`. "
        "The mixed model is the snapshot of that checkpoint. What was mixed is in the topic, so the same records and "
        "the same mixings give the same model, bit for bit."
    ]


def _said(value: Any) -> str:
    """Return a parameter as a call says it: of a learner, what differs from its defaults."""
    if isinstance(value, list):
        return f"[{', '.join(map(_said, value))}]"
    return snapshot.describe(snapshot.dumps(value))[0] if isinstance(value, base.Estimator) else repr(value)


def _first_sentence(step: Any) -> str:
    return " ".join((inspect.getdoc(type(step)) or "").split("\n\n")[0].split())


def _guarantee(step: Any) -> str:
    """Return what the class of a learner states about itself: its `guarantee`, and the bounds in its documentation."""
    text = inspect.getdoc(type(step)) or ""
    notes = re.search(r"^Notes\n-----\n(.*?)(?=\n\n[A-Z][\w ]+\n---|\Z)", text, re.DOTALL | re.MULTILINE)
    stated = [getattr(step, "guarantee", ""), " ".join(notes[1].split()) if notes else ""]
    return " ".join(filter(None, stated)) or "that of its rule; see the documentation of the class."


def _checkpoint(config: Config) -> list[str]:
    every = f"Every {config.checkpoint.every:g} s"
    if config.checkpoint.guarantee == "exactly_once":
        return [
            f"{every}, output, offsets and models move together in one transaction of Kafka.",
            "So a reader of committed records sees exactly one output for each input. Each prediction equals that of "
            f"the bare learner on the same partition{_other_changes(config)}, whatever crashed in between.",
            f"Output becomes visible at the next checkpoint, up to {config.checkpoint.every:g} s later.",
        ]
    again = "the same prediction and the same header `source`"
    if config.labels:  # the order of both inputs is not written down
        again = (
            "the same header `source`; where a label or a record came late, perhaps with another prediction, and the "
            "last one counts"
        )
    return [
        f"{every}, offsets and models move together, after the output (at least once).",
        "Each input has at least one output. After a crash, the outputs since the last checkpoint are written again, "
        f"with {again}. The models are as exact as with exactly_once.",
        "Output is visible at once.",
    ]


def _other_changes(config: Config) -> str:
    """Return what changes the model beside its learner, for the end of a sentence."""
    if config.mixing is not None:
        return " with the same mixings"
    return " that changes at the same drifts" if config.drift_plan and config.drift_plan.then != "warn" else ""


def _snapshots(config: Config) -> list[str]:
    keep, every = config.snapshots.keep, getattr(config.snapshots, "every", None)
    kept = [f"the newest {keep.last} of each partition"]
    kept += [f"one for each of {keep.hourly} hours"] if keep.hourly else []
    kept += [f"one for each of {keep.daily} days"] if keep.daily else []
    written = (
        f"written every {every:g} s; a restart reads the records since then again, without output"
        if every
        else "written at each checkpoint"
    )
    return [
        f"The models are in `{config.snapshots.folder}`, {written}. The committed offset names the snapshot that "
        "belongs to it, with its SHA-256: no other one is ever loaded.",
        f"The processor keeps {', '.join(kept)}, and those that an offset names.",
        "All hosts of the group need the same folder."
        if "://" not in config.snapshots.folder
        else "All hosts of the group share it; credentials come from the environment.",
    ]


def _crash(config: Config) -> list[str]:
    is_exact = config.checkpoint.guarantee == "exactly_once"
    transaction, _, silent = config.kafka.timeouts
    undone = "the transaction is aborted with its output, which is written again" if is_exact else "output is repeated"
    aborted = f" and has aborted its transaction, which lasts up to {transaction:g} s" if is_exact else ""
    leaves = (
        "SIGTERM commits and keeps the partitions for the next start of this `instance`, until its session times out; "
        "Ctrl-C gives them up at once, unless the client is confluent."
        if config.instance
        else "SIGTERM commits and leaves the group: then they take over at once."
    )
    return [
        "Between two checkpoints: the next owner of the partition loads the snapshot of the last checkpoint and "
        f"continues from its offset; {undone}.",
        "While snapshots are written: the same; a file that no offset names is never read.",
        "After output and offsets were sent, before the commit: the same."
        if is_exact
        else "After output was sent, before the commit: the same, so this output is there twice.",
        "During the commit: the brokers have accepted it or not; the next owner asks them and continues from there.",
        "After the commit: nothing is lost; the next owner continues after it.",
        "Other processes take over when the group has found the process dead (the session time-out)"
        f"{aborted}. {leaves}",
        "Without brokers it tries again, after longer and longer pauses. A commit that does not end within "
        f"{silent:g} s ends the process (exit code 8); starting it again is safe.",
    ]


def _others(config: Config) -> list[str]:
    names = {role: f"`{name}`" for role, name in config.topics.items()}
    reads = _and([name for role, name in names.items() if role in ("input", "labels", "mixing")])
    writes = _and([name for role, name in names.items() if role not in ("input", "labels")])
    outputs = _and([name for role, name in names.items() if role not in ("input", "labels", "mixing")])
    is_exact = config.checkpoint.guarantee == "exactly_once"
    described = f"DescribeConfigs on {names['input']}, " if config.snapshots.every is not None else ""
    return [
        f"Readers of {outputs} must set `isolation.level=read_committed`, which is not the default: otherwise they "
        "also see the output of aborted transactions, and then the same output again."
        if is_exact
        else f"Readers of {outputs} must drop repeated messages: these have the same header `source`.",
        f"Nobody may reset the offsets of group `{config.name}`: an offset without its model is refused.",
        f"{_and([name for role, name in names.items() if role in ('input', 'labels')])} must keep records until they "
        "are read.",
        f"Permissions: Read on {reads} and group `{config.name}`, {described}Write on {writes}"
        + (f" and on transactional ids that begin with `{config.transactional_id_prefix}`." if is_exact else "."),
        _watched(config),
    ]


def _and(names: Sequence[str]) -> str:
    """Return names as text.

    >>> _and(["a"]), _and(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _watched(config: Config | FileConfig) -> str:
    if config.metrics is None:
        return ""
    where = f"http://{config.metrics.host}:{config.metrics.port}/metrics"
    return f"Prometheus reads its metrics at {where}; each process on a host needs a port of its own."


def _of_files(config: FileConfig) -> Iterator[tuple[str, list[str]]]:
    reads, writes = _file(config.input.file, "standard input"), _file(config.output.file, "standard output")
    yield "Input", [f"It reads {reads} to the end, in one process, with one model."]
    yield "Records", _records(config)
    yield "Learner", _learner(config)
    yield "Output", [f"Each record becomes one line of {writes}: id, prediction, score, and label if known."]
    where = _file(config.rejects.file, "standard output") if config.rejects else ""
    rejects = f"goes to {where}, with its bytes and the reason" if where else "is only logged and counted"
    yield (
        "Rejects",
        [
            f"A record that cannot be processed leaves the model as it was, bit for bit, and {rejects}. One whose "
            "label cannot be learned is predicted all the same.",
        ],
    )
    guarantee = config.checkpoint.guarantee
    if guarantee == "at_least_once" and not config.uses_standard_streams:
        guarantee = "exactly_once"  # files are cut back all the same
    promises = {
        "exactly_once": "output, position and model move together: each input is in the output or the rejects once",
        "at_least_once": "position and model move together, after the output, which is repeated after a crash",
        "none": "the model is saved; a crash loses the records since then, as standard input cannot be read again",
    }
    yield "Checkpoint", [f"Every {config.checkpoint.every:g} s, {promises[guarantee]}."]
    yield "Snapshots", [f"The model and the checkpoint are in `{config.snapshots / config.name / 'files'}`."]
    back = {
        "exactly_once": "the next start cuts the output back to the last checkpoint, loads its model and continues.",
        "at_least_once": "the next start loads the model of the last checkpoint and continues; lines are repeated.",
        "none": "the next start continues with the model of the last checkpoint, and with the input it is given.",
    }
    yield "When it crashes", [f"At any moment: {back[guarantee]}"]
    yield (
        "What others must do",
        [
            *_readers_and_writers(config),
            _watched(config),
        ],
    )


def _readers_and_writers(config: FileConfig) -> Iterator[str]:
    if config.checkpoint.guarantee != "none":
        yield "Readers may see lines that a crash removes; the same lines are then written again."
    elif config.output.file != STANDARD:
        yield "Readers may see lines that a crash removes, and that are not written again."
    yield "Nobody may change what was read or written: the next start compares the SHA-256 of the files."


def _file(path: str, standard: str) -> str:
    return standard if path == STANDARD else f"`{path}`"
