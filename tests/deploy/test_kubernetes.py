"""The manifests are valid, fit together, and give the processor what its file and its image need."""

import re
import shutil

import pytest
import yaml

from connectors import config
from connectors.snapshots.retention import GRACE
from river_margins import snapshot
from tests.deploy.tools import DEPLOY, LEAVING, PAGE, check, needs

KUBERNETES = DEPLOY / "kubernetes"
OVERLAYS = ["base", "overlays/production", "overlays/stateful"]


def manifests(text):
    return {manifest["kind"]: manifest for manifest in yaml.safe_load_all(text)}


def container(workload):
    (found,) = workload["spec"]["template"]["spec"]["containers"]
    return found


@pytest.fixture
def kustomize(tmp_path):
    """A copy of the folder with the Secret of an operator, and the program that builds an overlay of it."""
    kubectl = needs("kubectl", "https://kubernetes.io/docs/tasks/tools")
    folder = tmp_path / "kubernetes"
    shutil.copytree(KUBERNETES, folder)
    production = folder / "overlays" / "production"
    shutil.copy(production / "kafka.env.example", production / "kafka.env")
    return lambda overlay: check(kubectl, "kustomize", folder / overlay)


def validate(*files):
    program = needs("kubernetes-validate", "pip install kubernetes-validate")
    check(program, "--strict", *files)


def test_resources_are_valid_as_they_are():
    folder = KUBERNETES / "base"
    resources = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    validate(*(folder / file for file in resources))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_manifests_are_valid(kustomize, tmp_path, overlay):
    file = tmp_path / "whole.yaml"
    file.write_text(kustomize(overlay))
    validate(file)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_manifests_fit_together(kustomize, overlay):
    found = manifests(kustomize(overlay))
    workload = found["StatefulSet" if overlay == "overlays/stateful" else "Deployment"]
    pod, processor = workload["spec"]["template"]["spec"], container(workload)
    assert ("Deployment" in found) != ("StatefulSet" in found)
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert workload["spec"]["selector"]["matchLabels"] == labels == found["Service"]["spec"]["selector"]
    assert found["Service"]["spec"]["publishNotReadyAddresses"] is True, "Prometheus must see a pod that is not ready"
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert found["PodDisruptionBudget"]["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert set(volumes) == {mount["name"] for mount in processor["volumeMounts"]}
    assert volumes["processor"]["configMap"]["name"] == found["ConfigMap"]["metadata"]["name"]
    claim = volumes["snapshots"]["persistentVolumeClaim"]["claimName"]
    assert claim == found["PersistentVolumeClaim"]["metadata"]["name"]
    if "Secret" in found:
        assert volumes["kafka"]["secret"]["secretName"] == found["Secret"]["metadata"]["name"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pods_fit_the_processor(kustomize, tmp_path, monkeypatch, overlay):
    found = manifests(kustomize(overlay))
    workload = found["StatefulSet" if overlay == "overlays/stateful" else "Deployment"]
    pod, processor = workload["spec"]["template"]["spec"], container(workload)
    variables = {variable["name"]: variable for variable in processor.get("env", [])}
    for name in variables:
        monkeypatch.setenv(name, "phishing-0")
    (text,) = found["ConfigMap"]["data"].values()
    mounts = {mount["name"]: mount["mountPath"] for mount in processor["volumeMounts"]}
    for name in found.get("Secret", {"data": {}})["data"]:
        (tmp_path / name).write_text("secret")
    file = tmp_path / "processor.yaml"
    file.write_text(text.replace(mounts.get("kafka", "/nowhere"), str(tmp_path)))
    settings = config.load_topics(file)
    assert settings.snapshots.folder == mounts["snapshots"]
    assert mounts["processor"] == "/etc/river-margins" and list(found["ConfigMap"]["data"]) == ["processor.yaml"]
    assert settings.metrics.host == "0.0.0.0"
    assert processor["ports"] == [{"name": "metrics", "containerPort": settings.metrics.port}]
    assert pod["terminationGracePeriodSeconds"] >= sum(settings.kafka.timeouts) + LEAVING
    assert settings.instance == ("phishing-0" if overlay == "overlays/stateful" else None)
    for name, path in (("startupProbe", "/live"), ("livenessProbe", "/live"), ("readinessProbe", "/ready")):
        assert processor[name]["httpGet"] == {"path": path, "port": "metrics"}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pods_are_confined(kustomize, overlay):
    workload = manifests(kustomize(overlay))["StatefulSet" if overlay == "overlays/stateful" else "Deployment"]
    pod, processor = workload["spec"]["template"]["spec"], container(workload)
    (user,) = re.findall(r"^USER (\d+):(\d+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    security = pod["securityContext"]
    assert (str(security["runAsUser"]), str(security["runAsGroup"])) == user and security["runAsNonRoot"] is True
    assert security["seccompProfile"] == {"type": "RuntimeDefault"} and not pod["automountServiceAccountToken"]
    assert processor["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    resources = processor["resources"]
    assert resources["requests"].keys() == {"cpu", "memory"} and "memory" in resources["limits"]


def test_the_volume_has_room_for_the_snapshots():
    """Of 4 partitions with 200,000 features, by which the memory of the pods is measured."""
    claim = yaml.safe_load((KUBERNETES / "base" / "snapshots.yaml").read_text())
    size = claim["spec"]["resources"]["requests"]["storage"]
    settings = config.load_topics(KUBERNETES / "base" / "processor.yaml")
    learner = settings.build_learner()
    for n in range(2_000):
        learner.learn_one({f"word_{100 * n + m}": 1.0 for m in range(100)}, n % 2 == 0)
    most = settings.snapshots.keep.last + (GRACE + settings.kafka.timeouts[0]) / settings.checkpoint.every
    assert int(size.removesuffix("Gi")) * 2**30 > 4 * most * len(snapshot.dumps(learner))


@pytest.mark.parametrize(("transaction", "poll"), [(10, 30), (60, 90)])
def test_the_time_to_stop_is_what_the_page_says(tmp_path, transaction, poll):
    sections = yaml.safe_load((KUBERNETES / "base" / "processor.yaml").read_text())
    sections["kafka"] |= {
        "consumer": {"max.poll.interval.ms": 1000 * poll, "session.timeout.ms": 1000 * transaction + 5_000},
        "producer": {"transaction.timeout.ms": 1000 * transaction},
    }
    file = tmp_path / "processor.yaml"
    file.write_text(yaml.safe_dump(sections))
    assert "the sum of twice `transaction.timeout.ms`, 15 s, `max.poll.interval.ms` and 10 s" in " ".join(PAGE.split())
    assert sum(config.load_topics(file).kafka.timeouts) + LEAVING == 2 * transaction + 15 + poll + 10


def test_a_copy_of_a_pod_runs_commands_while_no_processor_runs():
    (command,) = re.findall("^    kubectl debug POD (.*)$", PAGE, re.MULTILINE)
    name = container(yaml.safe_load((KUBERNETES / "base" / "deployment.yaml").read_text()))["name"]
    assert f"--container={name} " in command
    assert PAGE.index("kubectl debug POD") < PAGE.index("kubectl scale deployment phishing --replicas 0")


def test_pods_have_the_label_that_keeps_the_alerts_of_processors_apart():
    (name,) = re.findall(r"__meta_kubernetes_pod_label_(\w+)\], target_label: processor", PAGE)
    pod = yaml.safe_load((KUBERNETES / "base" / "deployment.yaml").read_text())["spec"]["template"]
    assert name in {re.sub(r"\W", "_", label) for label in pod["metadata"]["labels"]}
