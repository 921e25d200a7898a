"""The part of a processor's file that a Spark query reads: records, learner, and what an output tells."""

from typing import Any, Literal

from pydantic import Field

from connectors.config.schema import EXPLAIN, SCORE, AnyConfig, AnyLabels, Section
from connectors.config.valid_values import PathProblem, ValidValues
from connectors.config.value_types import Count, Name, OutputScore
from connectors.config.yaml_file import Document, Place
from connectors.formats.codecs import JSON

# Spark has its own source, sink, checkpoint and state.
IGNORED = {
    ("name",), ("kafka",), ("instance",), ("input",), ("rejects",), ("checkpoint",), ("snapshots",), ("on_bad_state",),
    ("metrics",), ("outcomes",), ("labels", "topic"), ("labels", "file"), ("labels", "wait"),
    ("output", "topic"), ("output", "file"), ("output", "timestamp"), ("output", "format"),
    ("record", "registry"),
}  # fmt: skip
# Without these a query would learn, or tell, something else than the file says.
REFUSED = {
    "queries": "a Spark query does not ask for labels: leave this out",
    "challengers": "a Spark query has one model for each key: leave them out, and start a query for each of them",
    "drift": "a Spark query does not watch for drift: leave this out",
    "mixing": "a Spark query has one model for each key, and does not mix them: leave this out",
}


class SparkOutput(Section):
    score: OutputScore = Field(default="learner", description=SCORE)
    explain: Count = Field(default=0, description=EXPLAIN)


class SparkLabels(AnyLabels):
    """Labels that come later, in a DataFrame of their own."""

    format: Literal["json"] = Field(default="json", description="JSON, or columns.")


class SparkConfig(AnyConfig):
    """The learner of a Spark query and its records."""

    name: Name = Field(default="spark", description="Not used.")
    output: SparkOutput = Field(default=SparkOutput(), description="What an output tells.")
    labels: SparkLabels | None = Field(default=None, description="Labels that come later.")

    @classmethod
    def check_mixture(cls, data: dict[str, Any]) -> list[PathProblem]:
        """Find sections that a query cannot honour."""
        found = [PathProblem((name,), f"`{name}`: {why}") for name, why in REFUSED.items() if name in data]
        for name in ("record", "labels"):
            section = data.get(name)
            if isinstance(section, dict) and section.get("format", JSON) != JSON:
                what = "a Spark query reads JSON, or columns: decode other formats in the query before"
                found.append(PathProblem((name, "format"), f"`{name}.format`: {what}", blames_key=False))
        if isinstance(data.get("labels"), dict):
            for name in ("record", "labels"):
                section = data.get(name)
                if not isinstance(section, dict) or section.get("id") is None:
                    what = f"`{name}.id` is missing: in Spark, nothing but a field tells which record a label is for"
                    found.append(PathProblem((name,), what))
        return found

    @classmethod
    def check_values(cls, values: ValidValues, data: dict[str, Any]) -> list[PathProblem]:
        """Find problems as in any file. Of `record.format`, `check_mixture` has said all: the registry was left out."""
        return [problem for problem in super().check_values(values, data) if problem.path != ("record", "format")]


def leave_out_ignored(document: Document) -> None:
    """Take out of a file what a query ignores, with the problems there.

    A file may serve a processor as well. The driver of a query need not know the variables of its connection.
    """
    if not isinstance(document.data, dict):
        return
    starts = {place: path for path, place in document.keys.items() if len(path) <= 2}

    def is_ignored(place: Place) -> bool:
        path = starts.get(max((start for start in starts if start <= place), default=place), ())
        return path in IGNORED or path[:1] in IGNORED

    document.problems = [problem for problem in document.problems if not is_ignored(problem.place)]
    document.broken = {path for path in document.broken if path[:1] not in IGNORED and path[:2] not in IGNORED}
    document.data = {name: value for name, value in document.data.items() if (name,) not in IGNORED}
    for section in ("record", "labels", "output"):
        keys = document.data.get(section)
        if isinstance(keys, dict):
            document.data[section] = {name: value for name, value in keys.items() if (section, name) not in IGNORED}
