"""A bare loop of River models with a detector of River beside it, written without anything of `connectors.drift`."""

import copy

from connectors.config.learner import assemble
from river_margins import snapshot
from tests.helpers.streams import phishing

STEPS = {
    "pa": ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}],
    "arow": ["StandardScaler", "AROWClassifier"],
}


def switching(count, *places):
    """Return labelled and unlabelled records, whose labels mean the opposite from each of these places on."""
    records = phishing(count)
    for place in places:
        for record in records[place:]:
            if record.get("y") is not None:
                record["y"] = not record["y"]
    return records


def fresh(name):
    return assemble(STEPS[name])[0]


class Bare:
    """Models that learn one after the other, and what the champion's loss leads to."""

    def __init__(self, detector, then, champion="pa", others=("arow",)):
        self.models = {name: fresh(name) for name in (champion, *others)}
        self.detector, self.then, self.champion = detector, then, champion
        self.drifts = []

    def say(self, features, label=None):
        """Return what each model says, the champion first."""
        found = {}
        for name in sorted(self.models, key=lambda name: name != self.champion):
            model = self.models[name]
            score = model.score_one(features)
            if score == {}:  # before the first label
                score = None if label is None else 0.0
            found[name] = (model.predict_one(features), score)
        return found

    def learn(self, id, features, label):
        for model in self.models.values():
            model.learn_one(copy.copy(features), label)

    def judge(self, id, prediction, label):
        """Tell the detector whether the champion was wrong, and do what the file says if that rose."""
        if prediction is None:
            return
        before = self.detector.estimation
        self.detector.update(float(prediction != label))
        if not self.detector.drift_detected or self.detector.estimation <= before:
            return
        self.drifts.append(id)
        if self.then == "reset":
            self.models[self.champion] = fresh(self.champion)
        elif self.then in self.models:
            self.champion = self.then

    def play(self, records):
        """Return the outputs for these records, as the processor writes them."""
        outputs = []
        for record in records:
            features = {name: value for name, value in record.items() if name not in ("id", "y")}
            label = record.get("y")
            said = self.say(features, label)
            (first, _), *_ = said.values()
            told = [{"prediction": prediction, "score": score} for prediction, score in said.values()]
            output = {"id": record["id"], **told[0]}
            if len(said) > 1:
                output["challengers"] = dict(zip([*said][1:], told[1:], strict=True))
            outputs.append(output | ({} if label is None else {"label": label}))
            if label is not None:
                self.learn(record["id"], features, label)
                self.judge(record["id"], first, label)
        return outputs

    @property
    def data(self):
        return {name: snapshot.dumps(model) for name, model in self.models.items()}


def late_events(found, delays):
    """Return the lines of both files, and records and labels in the order in which they are taken."""
    records, labels = [], []
    for number, record in enumerate(found):
        at, label = 10 * number, record.get("y")
        features = {name: value for name, value in record.items() if name not in ("id", "y")}
        records.append((at, {"id": number, **features, "at": at}, (number, features, None)))
        if label is not None:
            due = at + 5 + 10 * delays.randrange(60)
            labels.append((due, number, {"of": number, "label": label, "at": due}, (number, None, label)))
    labels.sort(key=lambda each: each[:2])
    order = sorted(
        [(at, 0, event) for at, _, event in records] + [(due, n, event) for due, n, _, event in labels],
        key=lambda each: each[:2],
    )
    return [line for _, line, _ in records], [line for _, _, line, _ in labels], [event for *_, event in order]


class LateBare(Bare):
    """The same with labels that come later: what was said of a record is judged when its label comes.

    After a reset, what the model said before is not held against the one that began anew.
    """

    def play_late(self, events):
        """Take records and labels in the order of their times; return outputs and outcomes."""
        waiting, outputs, outcomes, age = {}, [], [], 0
        for id, features, label in events:
            if label is None:
                said = self.say(features)
                told = [{"prediction": prediction, "score": score} for prediction, score in said.values()]
                output = {"id": id, **told[0]}
                if len(said) > 1:
                    output["challengers"] = dict(zip([*said][1:], told[1:], strict=True))
                waiting[id] = features, said, output, age
                outputs.append(output)
                continue
            features, said, output, then = waiting.pop(id)
            outcomes.append({**output, "label": label})
            self.learn(id, features, label)
            if then == age or self.then != "reset":
                before = len(self.drifts)
                self.judge(id, said[self.champion][0], label)
                age += len(self.drifts) - before if self.then == "reset" else 0
        return outputs, outcomes
