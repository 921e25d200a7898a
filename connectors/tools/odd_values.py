"""Values of features and labels that nothing refuses, and from which an evaluation learns little: told beside it."""

import re
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from connectors.files.csv_rows import FOREIGN_NUMBER
from river_margins.pipeline import within

MANY = 20  # different texts of a kind: what a measurement gives, and a category seldom has
LEAST, NEARLY_ALL = 100, 0.9  # texts of a feature, or labels; and the share of these texts that comes first
REMEMBERED = 1000  # texts of a feature, features, or labels
EARLY = 10_000  # examples that are looked at for numbers that never vary
SHOWN = 40  # characters of a text
LARGE = 20  # examples of a label; with fewer of each, many labels are numbers, ids or texts, and no classes
ALIKE = 3  # groups of labels that are told
# A number with decimals or thousands apart and perhaps a unit, or any number with a sign: 1.50, 20.1 kg, $2,345, 45%.
MEASURE = re.compile(
    rf"\(?[+-]?[$€£¥]? ?([+-]?[0-9]+[.,][0-9]+|{FOREIGN_NUMBER.pattern}) ?[%‰°$€£¥]?[^\W\d_]{{0,3}}\)?"
    r"|[+-]?[$€£¥] ?[0-9]+|[+-]?[0-9]+ ?[%‰°$€£¥][^\W\d_]?"
)
DATE = re.compile(
    r"([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}|[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{4}|[0-9]{2}[./][0-9]{2}[./][0-9]{2})"
    r"([ T].*)?"
)
KINDS = {
    "numbers written as text": (MEASURE, "write numbers, without quotes, signs and units"),
    "dates": (DATE, "write what counts of them, such as the hour or the weekday, as features of their own"),
}
NO_LABELS = frozenset(("", "-", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "<NA>"))


class _Texts:
    """The texts of a feature: the first ones of each kind, and how many came once."""

    def __init__(self) -> None:
        self.of_kinds: dict[str, set[str]] = {kind: set() for kind in KINDS}
        self.last, self.record = "", dict[str, Any]()  # the last text, and the features beside it
        self.has_numbers = False
        # A sample of the different texts, by a checksum, with how often each came: it is halved if there are many.
        self._sample, self._step, self._number = Counter[str | int](), 1, 0

    def see(self, text: str) -> None:
        self._number += 1
        if text in self._sample:  # most texts are those of a category, and were looked at when they came first
            self._sample[text] += 1
            return
        for kind, (pattern, _) in KINDS.items():
            found = self.of_kinds[kind]
            if len(found) < MANY and pattern.fullmatch(text):
                found.add(text)
        checksum = _checksum(text)
        if checksum % self._step == 0:
            self._sample[text if len(text) <= SHOWN else checksum] += 1
            if len(self._sample) > REMEMBERED:
                self._step *= 2
                self._sample = Counter({key: n for key, n in self._sample.items() if _checksum(key) % self._step == 0})

    @property
    def are_new(self) -> bool:
        """Whether nearly every text had not been there before."""
        return self._number >= LEAST and len(self._sample) > NEARLY_ALL * self._sample.total()


def _checksum(key: str | int) -> int:
    """Return the checksum of a text, which stands for a long one."""
    return zlib.crc32(key.encode(errors="replace")) if isinstance(key, str) else key


@dataclass
class _Number:
    """The first number of a feature, how often it came, and whether there was another one."""

    first: float
    count: int = 1
    varies: bool = False


class OddFeatures:
    """Looks for features whose texts are no categories, and for numbers of which a scaler makes 0.

    Parameters
    ----------
    words
        The features in which a step of the learner looks for words.
    """

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._words = frozenset(words)
        self._found: dict[str, _Texts] = {}
        self._examples = 0
        self._numbers: dict[str, _Number] = {}

    def see(self, features: dict[str, Any]) -> None:
        """Note the features of an example."""
        found = self._found
        if self._examples < EARLY:
            self._examples += 1
            self._see_numbers(features)
        for name, value in features.items():
            if type(value) is str:
                if name in found:
                    texts = found[name]
                elif name in self._words or len(found) >= REMEMBERED:
                    continue
                else:
                    texts = found[name] = _Texts()
                texts.last, texts.record = value, features
                texts.see(value)
            elif found and name in found and type(value) in (int, float):
                found[name].has_numbers = True

    def _see_numbers(self, features: dict[str, Any]) -> None:
        numbers = self._numbers
        for name, value in features.items():
            if type(value) not in (bool, int, float):
                continue
            if name not in numbers:
                if len(numbers) < REMEMBERED:
                    numbers[name] = _Number(value)
            elif value == numbers[name].first:
                numbers[name].count += 1
            else:
                numbers[name].varies = True

    def warnings(self, learner: Any) -> list[str]:
        """Return a sentence for each odd feature that reaches the last step of the learner."""
        said = ((name, _sentence(name, texts)) for name, texts in self._found.items())
        odd = sorted(text for name, text in said if text and _reaches(learner, self._found[name].record, name))
        return odd + self._zeros(learner)

    def _zeros(self, learner: Any) -> list[str]:
        """Say so if a scaler makes 0 of features that are the same wherever they occur, such as tags that are 1."""
        if not any(type(step).__name__.endswith("Scaler") for step in within(learner)):
            return []
        zeros = [
            (name, number.first)
            for name, number in self._numbers.items()
            if not number.varies
            and MANY <= number.count <= self._examples - MANY
            and _is_made_0(learner, name, number.first)
        ]
        if not zeros:
            return []
        (name, value), others = zeros[0], len(zeros) - 1
        these = f"the feature `{name}` is {value!r} wherever it occurs"
        if others:
            these += f", and {others:,} more never {'vary' if others > 1 else 'varies'}, either"
        return [
            f"{these}: the scaler makes 0 of {'them' if others else 'it'}, which teaches nothing: leave the scaler "
            "out, or write 0 where the feature is missing"
        ]


def _sentence(name: str, texts: _Texts) -> str:
    text = _shown(texts.last)
    for kind, (_, advice) in KINDS.items():
        if len(texts.of_kinds[kind]) == MANY:
            text = _shown(max(texts.of_kinds[kind]))
            return (
                f"many values of the feature `{name}` are {kind}, such as {text}, and each text is a category here: "
                f"{advice}"
            )
    if texts.has_numbers:
        return (
            f"the feature `{name}` is text in some records, such as {text}, and a number in others, and each text is a "
            "category here: where the number is missing, leave the field out, or its cell empty"
        )
    if texts.are_new:
        return (
            f"nearly every text of the feature `{name}` comes once, such as {text}, and each text is a category here, "
            "which teaches nothing: list the other features in `record.features`, or let `TFIDF` read its words"
        )
    return ""


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")


def _reaches(learner: Any, features: dict[str, Any], name: str) -> bool:
    """Whether the steps before the last one make something of a feature, and do not leave it out."""
    if not hasattr(learner, "transform_one"):
        return True
    others = {other: value for other, value in features.items() if other != name}
    try:
        return bool(learner.transform_one(dict(features)) != learner.transform_one(others))
    except Exception:  # a step that needs the feature
        return True


def _is_made_0(learner: Any, name: str, value: Any) -> bool:
    """Whether the steps before the last one make 0 of a feature that is not 0."""
    if not value or not hasattr(learner, "transform_one"):
        return False
    try:
        return bool(learner.transform_one({name: value}).get(name) == 0)
    except Exception:  # a step that needs other features
        return False


class OddLabels:
    """Looks for labels that are no classes, that mean that there is none, that look like another one, or suffice.

    Parameters
    ----------
    is_weighted
        Whether the labels have weights: then the accuracy is not what counts.
    """

    def __init__(self, is_weighted: bool = False) -> None:
        self._is_weighted = is_weighted
        self._numbers, self._judged = Counter[Any](), Counter[Any]()
        self._right, self._seen = 0, 0

    def see(self, label: Any, prediction: Any) -> None:
        """Note the label of an example, and whether the prediction was right; None came before the first label."""
        if label in self._numbers or len(self._numbers) < REMEMBERED:
            self._numbers[label] += 1
        if prediction is None:  # no metric of labels measures it
            return
        self._seen += 1
        self._right += bool(prediction == label)
        if label in self._numbers:
            self._judged[label] += 1

    def warnings(self) -> list[str]:
        """Return a sentence for each label that is odd."""
        total, groups = self._numbers.total(), dict[Any, list[Any]]()
        if LEAST <= len(self._numbers) > total / LARGE:
            return [
                f"there are {LEAST} different labels and more, with fewer than {LARGE} examples each on average, and "
                "each label is a class here: for numbers use a regressor; or is another field the label?"
            ]
        for label in self._numbers:
            groups.setdefault(_look(label), []).append(label)
        said = [
            f"the label {label!r} is a class of its own ({self._numbers[label]:,} of {total:,} examples): if it means "
            "that there is no label, write null in its place, or leave it out"
            for label in sorted(NO_LABELS & self._numbers.keys())
            if label != "-" or "+" not in self._numbers  # these two are minus and plus
        ]
        alike = [sorted(labels, key=repr) for labels in groups.values() if len(labels) > 1]
        said += [
            "labels that look alike are classes of their own: "
            + ", ".join(f"{label!r} ({self._numbers[label]:,} of {total:,} examples)" for label in labels)
            for labels in sorted(alike, key=repr)[:ALIKE]
        ]
        return said + self._one_label_suffices()

    def _one_label_suffices(self) -> list[str]:
        """Say so if an answer that never changes is as often right as the learner: the accuracy alone may look good."""
        if self._is_weighted or self._seen < LEAST or len(self._numbers) < 2 or not self._judged:
            return []
        label, most = self._judged.most_common(1)[0]
        if self._right > most or 2 * most <= self._seen + 1:  # a half looks bad by itself; the first one is not judged
            return []
        return [
            f"the learner was right on {self._right:,} of {self._seen:,} examples, and always answering {label!r} is "
            f"right on {most:,}: if it has no `StandardScaler`, give it one; for rare labels, give it a "
            "`class_weight` if it takes one, and `--metric BalancedAccuracy` shows more than the accuracy"
        ]


def _look(label: Any) -> Any:
    """Return what a label has in common with those that look like it.

    >>> _look("Yes ") == _look("yes"), _look("1.0") == _look(1), _look("1st") == _look(1)
    (True, True, False)
    >>> _look(2**53) == _look(2**53 + 1)
    False
    """
    text = " ".join(str(label).split()).casefold()
    return Decimal(text) if re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?", text) else text  # exact, also for long ids
