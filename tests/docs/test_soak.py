"""The soak finds what grows."""

import numpy as np
import pytest

from tests.helpers.scripts import script


@pytest.fixture(scope="module")
def soak():
    with script("benchmarks/soak.py") as module:
        yield module


def sample(soak, client, minute, **changes):
    """A minute in which 60,000 records took 3 s of CPU, 50 µs each."""
    flat = {"memory": 100.0, "handles": 18, "threads": 15, "files": 280, "bytes": 560_000, "lag": 0, "partitions": 2}
    totals = {"cpu": 3.0 * minute, "records": 60_000 * minute}
    return soak.Sample(client=client, seconds=60.0 * minute, **flat | totals | changes)


def hour(soak, client="confluent", **grown):
    """An hour of samples; each of the figures `grown` grows by so much every minute."""
    return [
        sample(soak, client, n, **{name: getattr(sample(soak, client, n), name) + by * n for name, by in grown.items()})
        for n in range(61)
    ]


def test_growth_is_that_of_the_last_two_thirds(soak):
    """A line through (20, 0), (21, 2), ... rises by 2 a minute; what came before does not count."""
    values = np.r_[np.full(20, 1000.0), 2 * np.arange(41.0)]
    assert soak.growth(np.arange(61.0), values) == pytest.approx(120.0)


def test_a_flat_hour(soak):
    lines, wrong = soak.report(hour(soak) + hour(soak, "kafka-python"))
    assert wrong == [] and "All are flat." in lines
    assert "| CPU | 50 µs a record | 50 to 50 | +0.0% | +10.0% |" in lines


@pytest.mark.parametrize(
    ("grown", "by", "said"),
    [
        ("memory", 0.05, "confluent: memory: +"),  # 3 MB in an hour
        ("handles", 1, "confluent: file handles: +60 in an hour"),
        ("threads", 1, "confluent: threads: +60 in an hour"),
        ("bytes", 1000, "confluent: size of the store: +"),
        ("files", 1, "confluent: 340 snapshots in the store, more than 292"),  # 4 x (3 + 70)
        ("lag", 100, "confluent: lag: +"),
    ],
)
def test_what_grows_is_named(soak, grown, by, said):
    _, wrong = soak.report(hour(soak, **{grown: by}))
    assert [sentence for sentence in wrong if sentence.startswith(said)]


def test_cpu_that_each_record_takes_more_and_more_of(soak):
    """50 µs and a third more by the end."""
    samples = [sample(soak, "confluent", n, cpu=3.0 * n + 0.0083 * n * n) for n in range(61)]
    _, wrong = soak.report(samples)
    assert [sentence for sentence in wrong if sentence.startswith("confluent: CPU: +2")]


def test_the_figure_comes_out(soak, tmp_path):
    soak.draw(hour(soak) + hour(soak, "kafka-python"), tmp_path / "soak.svg")
    assert (tmp_path / "soak.svg").stat().st_size > 1000
