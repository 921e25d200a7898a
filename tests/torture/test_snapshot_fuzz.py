from tests.torture.snapshot_fuzz import run

CASES = 2_000


def test_forged_snapshots_are_refused_or_usable() -> None:
    """The short form of `snapshot_fuzz.py`."""
    counts, wrong = run(CASES, seed=1)
    assert not wrong, wrong[:5]
    assert sum(counts.values()) == CASES and min(counts["refused"], counts["loaded"]) > 100, counts
