from dataclasses import replace

import pytest

from tests.torture.campaign import SHORT, run, table


@pytest.mark.kafka
@pytest.mark.parametrize(("library", "every"), [("kafka-python", "1s"), ("confluent", None)])
def test_exactly_once_under_faults(library: str, every: str | None) -> None:
    """The short form of `campaign.py`: a crash at each step of the commit, and one or two of each other fault."""
    row = run(f"short, {library}", replace(SHORT, clients=(library,), every=every), seed=1)
    print(table([row]))
    assert not row.wrong, row.wrong
    assert (row.records, row.lost, row.doubled, row.disordered, row.diverged) == (SHORT.records, 0, 0, 0, 0)
