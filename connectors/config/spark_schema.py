"""The part of a processor's file that a Spark query reads: records, learner, and what an output tells."""

from typing import Any

from pydantic import Field

from connectors.config.schema import EXPLAIN, AnyConfig, Section
from connectors.config.valid_values import PathProblem
from connectors.config.value_types import Count, Name
from connectors.config.yaml_file import Document, Place
from connectors.formats.codecs import JSON

# Spark has its own source, sink, checkpoint and state.
IGNORED = (
    "name", "kafka", "instance", "input", "rejects", "checkpoint", "snapshots", "on_bad_state", "metrics",
)  # fmt: skip
# Without these a query would learn, or tell, something else than the file says.
REFUSED = {
    "labels": "a Spark query learns only labels that are in the record: join late ones to their records before, and"
    " name their field as `record.label`",
    "outcomes": "a Spark query has no labels that come later: leave this out",
    "queries": "a Spark query does not ask for labels: leave this out",
    "challengers": "a Spark query has one model for each key: leave them out, and start a query for each of them",
    "drift": "a Spark query does not watch for drift: leave this out",
    "mixing": "a Spark query has one model for each key, and does not mix them: leave this out",
}


class SparkOutput(Section):
    explain: Count = Field(default=0, description=EXPLAIN)


class SparkConfig(AnyConfig):
    """The learner of a Spark query and its records."""

    name: Name = Field(default="spark", description="Not used.")
    output: SparkOutput = Field(default=SparkOutput(), description="What an output tells.")
    labels: None = Field(default=None, description="Refused.")

    @classmethod
    def check_mixture(cls, data: dict[str, Any]) -> list[PathProblem]:
        """Find sections that a query cannot honour."""
        found = [PathProblem((name,), f"`{name}`: {why}") for name, why in REFUSED.items() if name in data]
        record = data.get("record")
        if isinstance(record, dict) and record.get("format", JSON) != JSON:
            sentence = "`record.format`: a Spark query reads JSON, or columns: decode other formats in the query before"
            found.append(PathProblem(("record", "format"), sentence, blames_key=False))
        return found


def leave_out_ignored(document: Document) -> None:
    """Take out of a file what a query ignores, with the problems there.

    A file may serve a processor as well. The driver of a query need not know the variables of its connection.
    """
    if not isinstance(document.data, dict):
        return
    starts = {place: path[0] for path, place in document.keys.items() if len(path) == 1}

    def is_ignored(place: Place) -> bool:
        return starts.get(max((start for start in starts if start <= place), default=place)) in IGNORED

    document.problems = [problem for problem in document.problems if not is_ignored(problem.place)]
    document.broken = {path for path in document.broken if path[0] not in IGNORED}
    document.data = {name: value for name, value in document.data.items() if name not in IGNORED}
    output = document.data.get("output")
    if isinstance(output, dict):
        document.data["output"] = {name: value for name, value in output.items() if name == "explain"}
