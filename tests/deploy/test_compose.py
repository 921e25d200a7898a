"""compose.yaml is valid, its parts fit together, and those that this machine can run do so."""

import re
import shutil
import signal

import pytest
import yaml

from connectors import config
from connectors.kafka.local import LocalKafka
from tests.deploy.tools import DEPLOY, LEAVING, check, needs
from tests.docs.test_quick_start import Terminals
from tests.helpers.deadline import DEADLINE
from tests.helpers.ports import free_port

FILE = DEPLOY / "compose.yaml"
SERVICES = yaml.safe_load(FILE.read_text())["services"]
PROCESSOR = DEPLOY / "compose" / "processor.yaml"
# Kafka's own defaults, where those of LocalKafka are for one broker; the file must not depend on the latter.
DEFAULTS = {
    "offsets.topic.replication.factor": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "group.initial.rebalance.delay.ms": 3000,
}


def mounted(service):
    """The files of the repository that a service has, by their places in the container."""
    volumes = [volume.split(":") for volume in SERVICES[service]["volumes"]]
    return {volume[1]: DEPLOY / volume[0] for volume in volumes if volume[0].startswith("./")}


def test_one_service_builds_the_image():
    """Services are built side by side, and the second of two that write the same image fails."""
    assert [name for name, service in SERVICES.items() if "build" in service] == ["processor"]
    assert SERVICES["topics"]["image"] == SERVICES["processor"]["image"]


def test_file_is_valid():
    compose = needs("docker-compose", "apt-get install docker-compose")
    said = yaml.safe_load(check(compose, "--file", FILE, "config", GRAFANA_PASSWORD="secret"))
    assert said["services"]["grafana"]["environment"] == {"GF_SECURITY_ADMIN_PASSWORD": "secret"}
    assert said["services"].keys() == {"kafka", "topics", "processor", "prometheus", "grafana"}


def test_every_mounted_file_exists():
    files = {place: file for service in SERVICES for place, file in mounted(service).items()}
    assert len(files) == 6 and all(file.is_file() for file in files.values())


def test_processor_is_confined():
    for service in ("topics", "processor"):
        found = SERVICES[service]
        assert found["read_only"] and found["tmpfs"] == ["/tmp"] and found["cap_drop"] == ["ALL"]
        assert "/etc/river-margins/processor.yaml" in mounted(service)


def test_processor_has_time_to_stop():
    seconds = float(SERVICES["processor"]["stop_grace_period"].removesuffix("s"))
    assert seconds >= sum(config.load_topics(PROCESSOR).kafka.timeouts) + LEAVING


def test_prometheus_reads_its_files(tmp_path):
    for place, file in mounted("prometheus").items():
        shutil.copy(file, tmp_path / place.removeprefix("/etc/prometheus/"))
    check(needs("promtool", "apt-get install prometheus"), "check", "config", tmp_path / "prometheus.yml")
    (scrape,) = yaml.safe_load((tmp_path / "prometheus.yml").read_text())["scrape_configs"]
    (names,) = scrape["dns_sd_configs"]
    assert names["names"] == ["processor"] and names["port"] == config.load_topics(PROCESSOR).metrics.port


def test_grafana_finds_source_and_dashboard():
    files = mounted("grafana")
    provisioned = "/etc/grafana/provisioning"
    (source,) = yaml.safe_load(files[f"{provisioned}/datasources/datasources.yaml"].read_text())["datasources"]
    assert source["type"] == "prometheus" and source["url"] == "http://prometheus:9090"
    (provider,) = yaml.safe_load(files[f"{provisioned}/dashboards/dashboards.yaml"].read_text())["providers"]
    (dashboard,) = [file for place, file in files.items() if place.startswith(provider["options"]["path"] + "/")]
    assert dashboard == DEPLOY / "monitoring" / "grafana.json"


def broker_settings(ports):
    """The environment of the broker as its properties, on other ports of this machine; the image does the same."""
    found = dict(DEFAULTS)
    for name, text in SERVICES["kafka"]["environment"].items():
        value = re.sub("//(kafka|localhost)?:", "//127.0.0.1:", str(text)).replace("@localhost:", "@127.0.0.1:")
        for port, other in ports.items():
            value = value.replace(f":{port}", f":{other}")
        found[name.removeprefix("KAFKA_").lower().replace("_", ".")] = value
    del found["log.dirs"]
    return found


@pytest.mark.kafka
def test_processor_on_the_broker(tmp_path):
    ports = {port: free_port() for port in (9092, 9093, 19092)}
    address = f"127.0.0.1:{ports[19092]}"  # what `kafka:19092` is inside
    assert SERVICES["processor"]["environment"] == {"BOOTSTRAP": "kafka:19092"}
    text = PROCESSOR.read_text().replace("port: 9464", f"port: {free_port()}")
    (tmp_path / "processor.yaml").write_text(text)
    command = SERVICES["topics"]["command"]
    with LocalKafka(settings=broker_settings(ports), port=ports[9092]) as kafka:
        terminals = Terminals(tmp_path, address)
        try:
            create = " ".join(["river-margins", *command]).replace("/etc/river-margins/", "")
            said, _ = terminals.start(create).communicate(timeout=DEADLINE)
            assert said.count("created") == 3
            produced, _ = terminals.start("river-margins produce processor.yaml Phishing").communicate(timeout=DEADLINE)
            assert produced == "1,250 records sent to `events`\n"
            processor = terminals.start("river-margins run processor.yaml")
            tail = terminals.start("river-margins tail processor.yaml --from-beginning")
            assert len(terminals.read(tail, 1250)) == 1250
            processor.send_signal(signal.SIGTERM)
            assert processor.wait(DEADLINE) == 0
        finally:
            terminals.close()
        assert kafka.bootstrap_servers == f"127.0.0.1:{ports[9092]}"  # which `HOST` tells to clients outside
