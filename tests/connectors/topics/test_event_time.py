"""A partition whose event time is ahead of the clock is told once, and again when that comes back."""

from types import SimpleNamespace

import pytest

from connectors.topics import event_time

CONFIG = SimpleNamespace(input=SimpleNamespace(topic="events"))


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (59, None),
        (61, "1.0 minutes"),
        (3 * 3600, "3.0 hours"),
        (365 * 86_400, "365.0 days"),
        (2**53, "104249991374.3 days"),
    ],
)
def test_how_far_it_is_ahead(monkeypatch, seconds, said):
    monkeypatch.setattr(event_time.time, "time", lambda: 1_000.0)
    found = event_time.ahead(CONFIG, 3, 1_000_000 + seconds * 1000)
    if said is None:
        assert found is None
    else:
        assert f"the event time of partition 3 of `events` is {said} ahead of the clock" in found
        assert "--empty --partition 3`" in found


def test_it_is_told_once_though_it_swings(monkeypatch, caplog):
    """As with a source whose clock is a minute ahead, and a look each second."""
    now = 1_000.0
    monkeypatch.setattr(event_time.time, "time", lambda: now)
    waiting = SimpleNamespace(time=0)
    partitions = {0: SimpleNamespace(labels=SimpleNamespace(waiting=waiting)), 1: SimpleNamespace(labels=None)}
    times = event_time.EventTimes(CONFIG)
    for _ in range(100):
        now += 1.0
        if now % 5 == 0:
            waiting.time = int((now + 61) * 1000)
        times.look(partitions)
    assert caplog.text.count("ahead of the clock") == 1
    now += 100.0
    times.look(partitions)
    waiting.time = int((now + 61) * 1000)
    times.look(partitions)
    assert caplog.text.count("ahead of the clock") == 2
