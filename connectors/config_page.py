"""Writes the reference page of the YAML file: `python -m connectors.config_page > docs/configuration.md`."""

import pathlib
from collections.abc import Collection, Iterator
from typing import Any

from pydantic import BaseModel

from connectors.config import Config, FileConfig, section_of
from connectors.errors import exit_codes
from connectors.sections import AnyConfig

EXAMPLE = pathlib.Path(__file__).parents[1] / "deploy" / "examples" / "phishing.yaml"
PAGE = """\
# The YAML file

One file is one processor. `river-margins run FILE` starts it; `river-margins lint FILE` says everything that is wrong
with it at once, as `file:line:column: sentence`, and ends with exit code 2.

```yaml
{example}
```

## Keys of every processor

{common}

## Keys of a processor between topics

{topics}

## Keys of a processor between files

{files}

What this promises is on a page of its own: [Files](files.md). A processor cannot read a topic and write a file, nor
read a file and write a topic.

Unknown keys, keys that stand twice, and values of the wrong kind are errors.

## Which client

- `kafka-python`, the default, is pure Python and comes with the package.
- `confluent` is confluent-kafka, on librdkafka in C, for more than some thousand records a second: a record with 20
  features takes about a third of the CPU time. It needs `pip install 'river-margins[confluent]'`.

Both give the same guarantees and pass the same tests and the same torture. A group may go from one to the other between
two starts, or process by process: they take over each other's offsets and snapshots. Keys that are spread over the
partitions of an output with another number of partitions go where the Java client would put them, with both.

## Settings of the client

Every other key below `kafka` is a setting of the client for both sides, by the client's own name for it; those that
only one side has or should have go below `consumer` or `producer`. kafka-python writes them `security_protocol`,
`sasl_mechanism`, `ssl_cafile`; `confluent` passes them to librdkafka as they are: `security.protocol`,
`sasl.mechanism`, `ssl.ca.location`. Settings that the guarantee owns, such as the isolation level, the group and the
transactional id, are refused by name, and so are time-outs that contradict each other. Values of settings whose name
contains `password`, `secret`, `token` or `key.pem` are always text and are never shown.

```yaml
name: phishing
kafka:
  bootstrap_servers: broker-1.example.org:9093,broker-2.example.org:9093
  security_protocol: SASL_SSL
  sasl_mechanism: SCRAM-SHA-512
  sasl_plain_username: phishing
  sasl_plain_password: ${{KAFKA_PASSWORD:-}}
  consumer: {{fetch_max_wait_ms: 100}}
  producer: {{compression_type: gzip}}
input: {{topic: events}}
learner: [PAClassifier]
output: {{topic: predictions}}
```

The same with the other client:

```yaml
name: phishing
kafka:
  client: confluent
  bootstrap_servers: broker-1.example.org:9093,broker-2.example.org:9093
  security.protocol: SASL_SSL
  sasl.mechanism: SCRAM-SHA-512
  sasl.username: phishing
  sasl.password: ${{KAFKA_PASSWORD:-}}     # or ${{file:/run/secrets/kafka}}
  consumer: {{fetch.wait.max.ms: 100}}
  producer: {{compression.type: gzip}}
input: {{topic: events}}
learner: [PAClassifier]
output: {{topic: predictions}}
```

## Steps of the learner

A step is a class name, or `Name: {{parameter: value}}`. Bare names are the learners and transformers of
`river_margins`; River's own classes go by full name, as `river.preprocessing.MinMaxScaler`. A rule or a space is named
the same way where a learner takes one:

```yaml
name: composed
kafka: {{bootstrap_servers: localhost:9092}}
input: {{topic: events}}
record: {{label: is_phishing, features: [https, long_url, ip_in_url]}}
learner:
  - river.preprocessing.MinMaxScaler
  - MarginClassifier: {{rule: {{PA1: {{C: 0.1}}}}, space: Linear}}
output: {{topic: predictions}}
```

A step whose state cannot be written into a snapshot is refused by name.

## The environment

`${{NAME}}` inside a value is filled in from the environment; an unset variable is an error. `${{NAME:-default}}` takes
the default when the variable is unset or empty. `$${{NAME}}` is the literal text `${{NAME}}`. `${{file:PATH}}`
is the text of a file without the line break at its end, for secrets that are mounted as files.
An unquoted value is read as YAML after it was filled in, so `C: ${{C:-0.01}}` is a number; in quotes it is text.
Between braces or brackets YAML itself asks for the quotes: `{{topic: "${{TOPIC}}"}}`.

Scalars follow YAML 1.2: only `true` and `false` are truth values, `1e-3` is a number. Anchors, aliases and tags are
refused.

## Exit codes

| code | meaning |
|---|---|
| 0 | the work is done, or a signal ended it in order |
{codes}
"""


def page() -> str:
    """Returns the reference page."""
    common = AnyConfig.model_fields
    tables = {"common": _table(AnyConfig, ()), "topics": _table(Config, common), "files": _table(FileConfig, common)}
    codes = [f"| {code} | {meaning} |" for code, meaning in exit_codes().items()]
    return PAGE.format(example=EXAMPLE.read_text().strip(), codes="\n".join(codes), **tables)


def _table(section: type[BaseModel], without: Collection[str]) -> str:
    rows = [row for row in _rows(section, "") if row[0].partition(".")[0] not in without]
    lines = [f"| `{name}` | {default} | {meaning} |" for name, default, meaning in rows]
    return "\n".join(["| key | default | meaning |", "|---|---|---|", *lines])


def _rows(section: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str]]:
    for name, field in section.model_fields.items():
        below = section_of(field.annotation)
        default = "required" if field.is_required() else _default(field.default, below)
        yield prefix + name, default, field.description or ""
        if below is not None:
            yield from _rows(below, f"{prefix}{name}.")


def _default(value: Any, below: type[BaseModel] | None) -> str:
    if value is None:
        return "none"
    if below is not None or value == {}:
        return ""
    return f"`{value:g}s`" if isinstance(value, float) else f"`{value}`"


if __name__ == "__main__":
    print(page(), end="")
