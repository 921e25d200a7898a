from dataclasses import replace

import pytest

from tests.helpers.deadline import DEADLINE
from tests.torture import campaign
from tests.torture.campaign import SHORT, run, table


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("library", "brokers", "version", "every", "wait", "mixes"),
    [("kafka-python", 1, "3.9.1", "1s", None, True), ("confluent", 3, None, None, "5s", False)],
)
def test_exactly_once_under_faults(
    monkeypatch: pytest.MonkeyPatch,
    library: str,
    brokers: int,
    version: str | None,
    every: str | None,
    wait: str | None,
    mixes: bool,
) -> None:
    """The short form of `campaign.py`: a crash at each step of the commit, and one or two of each other fault.

    With `wait` it has labels that come later; with `mixes` the models of the partitions become their mean now and then.
    """
    monkeypatch.setattr(campaign, "PROGRESS", DEADLINE)  # how soon is for the long form, on a machine of its own
    variant = replace(SHORT, clients=(library,), brokers=brokers, every=every, wait=wait, mixes=mixes)
    row = run(f"short, {library}", variant, seed=1, version=version)
    print(table([row]))
    assert not row.wrong, row.wrong
    assert (row.records, row.lost, row.doubled, row.disordered, row.diverged) == (len(variant.events(1)), 0, 0, 0, 0)
