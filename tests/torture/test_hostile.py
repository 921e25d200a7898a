from pathlib import Path

import pytest

from connectors.kafka import CLIENTS
from connectors.kafka.local import LocalKafka
from tests.torture.hostile import run, table

RECORDS = 10_000


@pytest.mark.parametrize("client", CLIENTS)
def test_each_of_ten_thousand_odd_records_is_accounted_for(kafka: LocalKafka, tmp_path: Path, client: str) -> None:
    """The short form of `hostile.py`; whether memory stays flat is for the long one."""
    report = run(kafka, tmp_path, RECORDS, seed=1, client=client)
    print(table(report))
    assert not report.wrong, report.examples
    assert sum(row.records for row in report.rows.values()) == RECORDS
    assert all(row.records for row in report.rows.values())
