import pytest
from campaign import SHORT, run, table


@pytest.mark.kafka
def test_exactly_once_under_faults() -> None:
    """The short form of `campaign.py`: a crash at each step of the commit, and one or two of each other fault."""
    row = run("short", SHORT, seed=1)
    print(table([row]))
    assert not row.wrong, row.wrong
    assert (row.records, row.lost, row.doubled, row.disordered, row.diverged) == (SHORT.records, 0, 0, 0, 0)
