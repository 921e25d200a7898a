"""The referee finds what it must find: outputs lost, doubled, out of order, foreign, or wrong by a single bit."""

import json
import math
import uuid

import pytest
from kafka import KafkaProducer

from connectors import config
from connectors.tools import referee

RECORDS = 40


@pytest.fixture
def trial(kafka, tmp_path):
    """A stream of two partitions with the outputs a bare learner gives, as lists to be tampered with."""
    return Trial(kafka, tmp_path / "trial.yaml")


class Trial:
    def __init__(self, kafka, file):
        self.kafka = kafka
        names = {role: f"{role}-{uuid.uuid4().hex}" for role in ("events", "predictions", "rejects")}
        kafka.create_topics(dict.fromkeys(names.values(), 2))
        file.write_text(f"""
name: trial
kafka: {{bootstrap_servers: "{kafka.bootstrap_servers}"}}
input: {{topic: {names["events"]}}}
record: {{id: id, label: y}}
learner: [river.preprocessing.StandardScaler, PAClassifier: {{C: 0.1}}]
output: {{topic: {names["predictions"]}}}
rejects: {{topic: {names["rejects"]}}}
""")
        self.settings = config.load(file)
        self.inputs = [self._record(number) for number in range(RECORDS)]
        self.outputs = [output for partition in (0, 1) for output in self._expected(partition)]
        self.rejects = []

    @staticmethod
    def _record(number):
        record = {"id": f"r{number}", "a": math.sin(number), "b": number % 7 - 3.5}
        return record | ({} if number % 5 == 4 else {"y": math.sin(number) > number % 3 - 1})

    def source(self, number):
        return f"{self.settings.input.topic}-{number % 2}-{number // 2}"

    def _expected(self, partition, unlearned=None):
        learner = self.settings.build_learner()
        for number in range(partition, RECORDS, 2):
            features = {key: value for key, value in self.inputs[number].items() if key not in ("id", "y")}
            scaled = learner["StandardScaler"].transform_one(features)
            score = learner["PAClassifier"].score_one(scaled)
            if score == {}:  # before the first label
                score = 0.0 if "y" in self.inputs[number] and number != unlearned else None
            prediction = learner.predict_one(features)
            output = {"id": f"r{number}", "prediction": prediction, "score": score}
            if "y" in self.inputs[number] and number != unlearned:
                output["label"] = self.inputs[number]["y"]
                learner.learn_one(features, output["label"])
            yield number, output

    def compare(self):
        producer = KafkaProducer(bootstrap_servers=self.kafka.bootstrap_servers)

        def send(topic, number, value, headers=()):
            producer.send(topic, json.dumps(value).encode(), b"%d" % number, list(headers), partition=number % 2)

        for number, record in enumerate(self.inputs):
            send(self.settings.input.topic, number, record)
        for section, messages in ((self.settings.output, self.outputs), (self.settings.rejects, self.rejects)):
            for number, value in messages:
                send(section.topic, number, value, [("source", self.source(number).encode())])
        producer.flush()
        producer.close()
        return referee.compare(self.settings)


def test_what_the_bare_learner_gives_is_exact(trial):
    verdict = trial.compare()
    assert verdict.exact
    assert (verdict.inputs, verdict.outputs, verdict.rejects, verdict.dropped) == (RECORDS, RECORDS, 0, 0)
    assert sum(learner["PAClassifier"].n_seen for learner in verdict.learners.values()) == RECORDS * 4 // 5


def test_a_lost_output_is_found(trial):
    del trial.outputs[7]
    verdict = trial.compare()
    assert (verdict.exact, verdict.lost, verdict.examples) == (False, 1, [f"{trial.source(14)} has no output"])


def test_a_doubled_output_is_found(trial):
    trial.outputs.insert(4, trial.outputs[3])
    verdict = trial.compare()
    assert (verdict.exact, verdict.doubled, verdict.disordered) == (False, 1, 0)


def test_outputs_out_of_order_are_found(trial):
    trial.outputs[3], trial.outputs[4] = trial.outputs[4], trial.outputs[3]
    verdict = trial.compare()
    assert (verdict.exact, verdict.disordered, verdict.different) == (False, 1, 0)


def test_an_output_of_no_input_is_found(trial):
    trial.outputs.append((RECORDS + 2, {"id": "x", "prediction": True, "score": 0.0}))
    verdict = trial.compare()
    assert (verdict.exact, verdict.foreign) == (False, 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda output: output | {"score": math.nextafter(output["score"], math.inf)},
        lambda output: output | {"prediction": not output["prediction"]},
        lambda output: output | {"prediction": int(output["prediction"])},
        lambda output: output | {"id": "other"},
        lambda output: {key: value for key, value in output.items() if key != "label"},
    ],
    ids=["score by a bit", "prediction", "kind of prediction", "id", "label"],
)
def test_a_wrong_output_is_found(trial, change):
    number, output = trial.outputs[10]
    trial.outputs[10] = number, change(output)
    verdict = trial.compare()
    assert (verdict.exact, verdict.different, len(verdict.examples)) == (False, 1, 1)
    assert verdict.examples[0].startswith(f"{trial.source(number)}: the output is ")


def test_a_bad_label_leads_to_an_output_and_a_reject(trial):
    """Record 1 of partition 1 has a label that the bare learner refuses."""
    trial.inputs[3]["y"] = "bad"
    trial.outputs = [output for partition in (0, 1) for output in trial._expected(partition, unlearned=3)]
    trial.rejects.append((3, {}))
    verdict = trial.compare()
    assert verdict.exact, verdict.examples
    assert verdict.rejects == 1 and verdict.outputs == RECORDS


@pytest.mark.parametrize("number", [3, 4])
def test_an_output_and_a_reject_are_wrong_if_there_is_no_bad_label(trial, number):
    """Record 3 has a good label and its output says so; record 4 has none."""
    assert ("y" in trial.inputs[number]) == (number == 3)
    trial.rejects.append((number, {}))
    verdict = trial.compare()
    assert (verdict.doubled, verdict.different > 0) == ((0, True) if number == 3 else (1, False))


def test_a_rejected_record_must_not_be_learned(trial):
    number, output = trial.outputs.pop(3)
    trial.rejects.append((number, output))
    verdict = trial.compare()
    assert verdict.lost == verdict.doubled == 0
    assert verdict.different > 0  # these outputs come from a learner that had learned it


@pytest.mark.parametrize("name", ["billing", "a-b", "-"])
def test_an_output_with_a_source_of_another_program_is_foreign(trial, monkeypatch, name):
    trial.outputs.append((RECORDS + 2, {"id": "x", "prediction": True, "score": 0.0}))
    known = trial.source
    monkeypatch.setattr(trial, "source", lambda number: name if number == RECORDS + 2 else known(number))
    verdict = trial.compare()
    assert (verdict.exact, verdict.foreign) == (False, 1)
