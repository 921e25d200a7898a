from pathlib import Path

from hostile import run, table

from connectors.kafka.local import LocalKafka

RECORDS = 10_000


def test_each_of_ten_thousand_odd_records_is_accounted_for(kafka: LocalKafka, tmp_path: Path) -> None:
    """The short form of `hostile.py`; whether memory stays flat is for the long one."""
    report = run(kafka, tmp_path, RECORDS, seed=1)
    print(table(report))
    assert not report.wrong, report.examples
    assert sum(row.records for row in report.rows.values()) == RECORDS
    assert all(row.records for row in report.rows.values())
