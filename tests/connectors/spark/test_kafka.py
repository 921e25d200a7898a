"""The job of the documentation, by spark-submit, between topics of a real Kafka."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from connectors import config
from connectors.kafka.local import LocalKafka
from tests.helpers import spark as local
from tests.helpers.paths import ROOT
from tests.helpers.streams import Stream

EXAMPLES = ROOT / "deploy" / "examples"
JARS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "river-margins" / "spark-jars"
NAMES = ("amount", "hour", "is_abroad")


def payments(count):
    draw = random.Random(0)
    for id in range(count):
        x = {"amount": draw.lognormvariate(3, 1), "hour": draw.randrange(24), "is_abroad": draw.random() < 0.1}
        label = {"is_fraud": x["is_abroad"] and x["amount"] > 20} if draw.random() < 0.8 else {}
        yield f"c{draw.randrange(20)}", {"id": f"p{id}", **x, **label}


def outputs_of_bare_learners(payments):
    learners, found = {}, {}
    for customer, payment in payments:
        learner = learners.setdefault(customer, config.load_for_spark(EXAMPLES / "customers.yaml").build_learner())
        x, label = {name: payment[name] for name in NAMES}, payment.get("is_fraud")
        score = learner.score_one(x)
        if score == {}:  # before the first label
            score = None if label is None else 0.0
        output = {"id": payment["id"], "prediction": learner.predict_one(x), "score": score}
        found[payment["id"]] = customer, output if label is None else output | {"label": label}
        if label is not None:
            learner.learn_one(x, label)
    return found


@pytest.fixture
def kafka():
    """A broker of its own: the topics have fixed names."""
    with LocalKafka() as own:
        yield own


@pytest.fixture
def jars():
    pytest.importorskip("pyspark", reason=local.MISSING)
    return local.kafka_jars(JARS)


@pytest.mark.timeout(600)
def test_the_job_of_the_documentation(jars, kafka, tmp_path):
    from kafka import KafkaProducer

    stream = Stream(kafka, tmp_path, partitions=2)
    kafka.create_topics({"payments": 2, "predictions": 2, "rejects": 1})
    given = list(payments(600))
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    for number, (customer, payment) in enumerate(given):
        if number == 300:
            producer.send("payments", b"{half", b"c0", partition=0)
            producer.send("payments", None, b"c0", partition=0)
        producer.send("payments", json.dumps(payment).encode(), customer.encode(), partition=int(customer[1:]) % 2)
    producer.close()
    for name in ("customers.yaml", "customers_spark.py"):
        shutil.copy(EXAMPLES / name, tmp_path)
    submit = Path(sys.executable).with_name("spark-submit")
    options = [f"--conf={name}={value}" for name, value in local.settings(tmp_path / "spark").items()]
    command = [submit, *options, "--jars", ",".join(map(str, jars)), "customers_spark.py"]
    variables = os.environ | local.environment(tmp_path / "spark") | {"PYTHONPATH": str(ROOT)}
    with (tmp_path / "log").open("w") as log:
        job = subprocess.Popen(
            [*command, kafka.bootstrap_servers, str(tmp_path / "checkpoint")],
            cwd=tmp_path, env=variables, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        found = stream.read("predictions", len(given))
        rejects = stream.read("rejects", 2)
    except AssertionError as error:
        raise AssertionError((tmp_path / "log").read_text()[-5000:]) from error
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    values = [json.loads(message.value) for message in found]
    keys = [message.key.decode() for message in found]
    assert {value["id"]: (key, value) for key, value in zip(keys, values, strict=True)} == outputs_of_bare_learners(
        given
    )
    assert [(message.key, message.value) for message in rejects] == [(b"c0", b"{half"), (b"c0", None)]
    for message, reason in zip(rejects, (b"not JSON", b"the value is null"), strict=True):
        headers = dict(message.headers)
        assert headers["source"].startswith(b"payments-0-") and headers["reason"].startswith(reason)
