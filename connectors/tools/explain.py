"""What a processor will do, in plain words: what it reads, learns and writes, and what a crash leads to."""

import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from river import base, compose

from connectors.config import Config, FileConfig
from connectors.config.files_schema import STANDARD
from river_margins import river_internals

WIDTH = 100


def explain(config: Config | FileConfig) -> str:
    """Returns paragraphs about a processor, each with its heading."""
    parts = _of_files(config) if isinstance(config, FileConfig) else _of_topics(config)
    return "\n\n".join(f"{heading}\n{_lines(sentences)}" for heading, sentences in parts)


def _lines(sentences: list[str]) -> str:
    filled = (textwrap.fill(s, WIDTH, initial_indent="  - ", subsequent_indent="    ") for s in sentences if s)
    return "\n".join(filled)


def _of_topics(config: Config) -> Iterator[tuple[str, list[str]]]:
    reads, writes = config.input.topic, config.output.topic
    begin = "the oldest record there is" if config.input.start == "earliest" else "what comes after the first start"
    yield (
        "Input",
        [
            f"It reads the topic `{reads}` at `{config.kafka.bootstrap_servers}` with {config.kafka.client}, committed "
            f"records only, as the consumer group `{config.name}`.",
            f"A group that has never committed begins with {begin}; later starts go on where the last commit was made.",
            "Processes that run the same file share the partitions. Each partition has a model of its own, and "
            "its records "
            "are taken in their order; their number must not change.",
        ],
    )
    yield "Records", _records(config)
    yield "Learner", _learner(config)
    yield (
        "Output",
        [
            f"Each record becomes one message in `{writes}`, under its key, in the partition of the same number "
            f"if `{writes}` "
            "has as many: id, prediction, score, and label if known.",
            "Its headers name the input (`source`) and the snapshot and number of examples of the model (`model`).",
        ],
    )
    yield (
        "Rejects",
        [
            "A record that cannot be processed leaves the model as it was, bit for bit.",
            f"It goes to `{config.rejects.topic}` with its bytes, and the reason in a header."
            if config.rejects
            else "It is logged and counted, and nowhere else: there is no `rejects` topic.",
        ],
    )
    yield "Checkpoint", _checkpoint(config)
    yield "Snapshots", _snapshots(config)
    yield "When it crashes", _crash(config)
    yield "What others must do", _others(config)


def _records(config: Config | FileConfig) -> list[str]:
    record = config.record
    named = f"its field `{record.id}`" if record.id else "its position"
    label = (
        f"The field `{record.label}` is the label. With it, a record is predicted first and learned then; without "
        "it, or "
        "with null, it is only predicted."
        if record.label
        else "No field is the label (`record.label`): everything is predicted, and nothing is ever learned."
    )
    taken = ", ".join(f"`{name}`" for name in record.features or ()) or "all other fields"
    return [f"A record is named by {named}. Features are {taken}.", label]


def _learner(config: Config | FileConfig) -> list[str]:
    learner = config.first_learner()
    steps = list(learner.steps.values()) if isinstance(learner, compose.Pipeline) else [learner]
    said = []
    for step in steps:
        parameters = ", ".join(f"{name}={value!r}" for name, value in river_internals.parameters(step).items())
        said.append(f"{type(step).__name__}({parameters}): {_first_sentence(step)}")
    said.append(f"Guarantee: {_notes(steps[-1])}")
    if config.start_from is not None:
        said.append(f"A model that has not begun starts as the snapshot `{config.start_from}`.")
    kind = "numbers" if isinstance(steps[-1], base.Regressor) else "classes"
    return [*said, f"It predicts {kind}. The same records in the same order give the same model, bit for bit."]


def _first_sentence(step: Any) -> str:
    return " ".join((inspect.getdoc(type(step)) or "").split("\n\n")[0].split())


def _notes(step: Any) -> str:
    found = re.search(r"^Notes\n-----\n(.*?)(?=\n\n[A-Z]\w+\n---|\Z)", inspect.getdoc(type(step)) or "", re.S | re.M)
    return " ".join(found[1].split()) if found else "that of its rule; see the documentation of the class."


def _checkpoint(config: Config) -> list[str]:
    every = f"Every {config.checkpoint.every:g} s"
    if config.checkpoint.guarantee == "exactly_once":
        return [
            f"{every}, output, offsets and models move together in one transaction of Kafka.",
            "So each input has exactly one output for whoever reads committed records, and each prediction is "
            "the one of "
            "the bare learner that reads the same partition, whatever crashed in between.",
            f"Output is visible after a checkpoint, up to {config.checkpoint.every:g} s late.",
        ]
    return [
        f"{every}, offsets and models move together, after the output (at least once).",
        "Each input has at least one output. After a crash, outputs since the last checkpoint come again, with "
        "the same "
        "prediction and the same header `source`. The models are as exact as with exactly_once.",
        "Output is visible at once.",
    ]


def _snapshots(config: Config) -> list[str]:
    keep, every = config.snapshots.keep, getattr(config.snapshots, "every", None)
    kept = [f"the newest {keep.last} of each partition"]
    kept += [f"one for each of {keep.hourly} hours"] if keep.hourly else []
    kept += [f"one for each of {keep.daily} days"] if keep.daily else []
    written = (
        f"written every {every:g} s; what came since is read again, without output, at a restart"
        if every
        else "written at each checkpoint"
    )
    return [
        f"The models lie in `{config.snapshots.folder}`, {written}. The committed offset names the one that "
        "belongs to it, "
        "with its SHA-256: no other is ever loaded.",
        f"Kept are {', '.join(kept)}, and whatever an offset names.",
        "All hosts of the group need the same folder."
        if "://" not in config.snapshots.folder
        else "All hosts of the group find it there; credentials come from the environment.",
    ]


def _crash(config: Config) -> list[str]:
    is_exact = config.checkpoint.guarantee == "exactly_once"
    transaction, _, silent = config.kafka.timeouts
    undone = "its output is dropped with the transaction, and made again" if is_exact else "its output comes again"
    swept = f", and its transaction, of up to {transaction:g} s, is swept away" if is_exact else ""
    return [
        "Between two checkpoints: the next owner loads the snapshot of the last one and reads on from its "
        f"offset; {undone}.",
        "While snapshots are written: the same; a file that no offset names is never looked at.",
        "After output and offsets were sent, before the commit: the same."
        if is_exact
        else "After output was sent, before the commit: the same, so this output is there twice.",
        "During the commit: the brokers have taken it or not, and the next owner asks them, and goes on from that.",
        "After the commit: everything has moved; the next owner goes on behind it.",
        f"Others take over when the group takes the process for dead (`session_timeout`){swept}. SIGTERM commits "
        "and leaves: nobody waits.",
        f"Without brokers it tries again, a little later each time. A commit that does not end within {silent:g} "
        "s ends "
        "the process (exit code 8); starting it again is safe.",
    ]


def _others(config: Config) -> list[str]:
    topics = f"`{config.output.topic}`" + (f" and `{config.rejects.topic}`" if config.rejects else "")
    is_exact = config.checkpoint.guarantee == "exactly_once"
    return [
        f"Readers of {topics} must set `isolation.level=read_committed`, which is not the default: else they also "
        "see output "
        "that was taken back, and then the same again."
        if is_exact
        else f"Readers of {topics} must drop what they have seen: the header `source` is the same.",
        f"Nobody may reset the offsets of group `{config.name}`: an offset without its model is refused.",
        f"`{config.input.topic}` must keep records until they are read.",
        f"Permissions: Read on `{config.input.topic}` and group `{config.name}`, Write on {topics}"
        + (f" and on transactional ids that begin with `{config.name}-`." if is_exact else "."),
        _watched(config),
    ]


def _watched(config: Config | FileConfig) -> str:
    if config.metrics is None:
        return ""
    where = f"http://{config.metrics.host}:{config.metrics.port}/metrics"
    return f"Prometheus finds it at {where}; each process on a host needs a port of its own."


def _of_files(config: FileConfig) -> Iterator[tuple[str, list[str]]]:
    reads, writes = _file(config.input.file, "standard input"), _file(config.output.file, "standard output")
    yield "Input", [f"It reads {reads} to the end, in one process, with one model."]
    yield "Records", _records(config)
    yield "Learner", _learner(config)
    yield "Output", [f"Each record becomes one line of {writes}: id, prediction, score, and label if known."]
    where = _file(config.rejects.file, "standard output") if config.rejects else ""
    rejects = f"goes to {where}, with its bytes and the reason" if where else "is logged and counted, and nowhere else"
    yield "Rejects", [f"A record that cannot be processed leaves the model as it was, bit for bit, and {rejects}."]
    promises = {
        "exactly_once": "output, position and model move together: each input is in the output or the rejects once",
        "at_least_once": "position and model move together, after the output, which comes again after a crash",
        "none": "the model is made durable; a crash loses what was read since, as standard input cannot be read again",
    }
    yield "Checkpoint", [f"Every {config.checkpoint.every:g} s, {promises[config.checkpoint.guarantee]}."]
    yield "Snapshots", [f"The model and the checkpoint lie in `{config.snapshots / config.name / 'files'}`."]
    back = {
        "exactly_once": "the next start cuts the output back to the last checkpoint, loads its model and goes on.",
        "at_least_once": "the next start loads the model of the last checkpoint and goes on; lines come again.",
        "none": "the next start goes on with the model of the last checkpoint, and whatever input it is given.",
    }
    yield "When it crashes", [f"At any moment: {back[config.checkpoint.guarantee]}"]
    yield (
        "What others must do",
        [
            "Readers that look while it runs may see lines that a crash takes back; they come again, the same ones.",
            "Input and output must be left as they are until it is done: at a restart their SHA-256 is compared.",
            _watched(config),
        ],
    )


def _file(path: str, standard: str) -> str:
    return standard if path == STANDARD else f"`{path}`"
