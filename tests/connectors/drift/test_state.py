"""Detectors of River: what they say of losses, and their state as data, through JSON and back."""

import copy
import random

import orjson
import pytest
from river import drift

from connectors.drift import state
from connectors.drift.detectors import MODULES, RiseDetector
from connectors.drift.state import BadDrift

PARAMETERS = {"KSWIN": {"seed": 1, "window_size": 40, "stat_size": 15}, "FHDDM": {"short_window_size": 20}}
OTHERS = {
    "ADWIN": {"delta": 0.1, "clock": 5, "max_buckets": 3, "min_window_length": 7, "grace_period": 20},
    "PageHinkley": {"mode": "up", "threshold": 10.0},
    "HDDMA": {"two_sided_test": True},
    "HDDMW": {"two_sided_test": True, "lambda_val": 0.1},
}


def losses(seed, is_number):
    """Return losses that rise, fall and rise again."""
    random_state = random.Random(seed)
    found = []
    for share in (0.1, 0.7, 0.2, 0.6):
        for _ in range(90):
            wrong = float(random_state.random() < share)
            found.append(wrong * random_state.random() * 10 if is_number else wrong)
    return found


@pytest.mark.parametrize(
    ("name", "parameters"), [(name, PARAMETERS.get(name, {})) for name in MODULES] + list(OTHERS.items())
)
def test_goes_on_after_json_as_if_nothing_had_been(name, parameters):
    is_number = name in ("ADWIN", "KSWIN", "PageHinkley")
    kept, read = RiseDetector(name, parameters), RiseDetector(name, parameters)
    drifts, found = [], 0
    for loss in losses(3, is_number):
        drifts.append(kept.update(loss))
        found += read.update(loss)
        data = orjson.dumps(state.write(read))
        assert data == orjson.dumps(state.write(kept))
        read = state.read(name, parameters, orjson.loads(data))
    assert found == sum(drifts)


def test_names_and_classes_of_river_agree():
    assert {name for name, module in MODULES.items() if module == "river.drift.binary"} == set(drift.binary.__all__)
    assert {name for name in MODULES if hasattr(drift, name)} == {"ADWIN", "KSWIN", "PageHinkley"}


@pytest.mark.parametrize("name", MODULES)
def test_a_fall_of_the_loss_is_no_drift_and_a_rise_is_one(name):
    """Each detector of River sees the switch, in its own time; only a rise counts."""
    random_state, found = random.Random(5), {}
    for first, second in ((0.02, 0.8), (0.8, 0.02)):
        detector = RiseDetector(name, PARAMETERS.get(name, {}))
        places = []
        for number in range(1200):
            if detector.update(float(random_state.random() < (first if number < 600 else second))):
                places.append(number)
        found[first] = places
    assert any(600 <= place < 900 for place in found[0.02])
    if name != "EDDM":  # it sees many that are none
        assert found[0.8] == []


def test_only_fhddm_is_told_what_was_right():
    """River's FHDDM looks for fewer ones, whatever its page says: of wrong predictions it would see a fall."""
    river = drift.binary.FHDDM()
    found = []
    for number in range(600):
        river.update(int(number >= 300))
        found += [number] if river.drift_detected else []
    assert found == []
    ours = RiseDetector("FHDDM", {})
    assert [number for number in range(600) if ours.update(float(number >= 300))] != []


BAD_WINDOWS = [
    lambda window: window["rows"].clear(),
    lambda window: window["rows"][0].update(used=99),
    lambda window: window["rows"][0].update(used=-1),
    lambda window: window["rows"][0]["totals"].pop(),
    lambda window: window["rows"].append(window["rows"][0]),
    lambda window: window["sums"].__setitem__(2, 10.0**9),
    lambda window: window["sums"].__setitem__(0, float("nan")),
    lambda window: window["counts"].append(1),
    lambda window: window["counts"].__setitem__(0, 2**40),
    lambda window: window.pop("rows"),
    lambda window: window.update(rows=3),
]


@pytest.mark.parametrize("spoil", BAD_WINDOWS)
def test_a_window_that_an_adwin_cannot_have(spoil, capfd):
    detector = RiseDetector("ADWIN", {})
    for number in range(100):
        detector.update(float(number % 3 == 0))
    saved = state.write(detector)
    spoil(saved["_helper"])
    with pytest.raises(BadDrift, match=r"the window of an `ADWIN`|the detector `ADWIN` is not well formed"):
        state.read("ADWIN", {}, saved)
    assert capfd.readouterr().err == ""  # River's compiled part was never given it


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("DDM", {"_p": {"n": "many", "_mean": 0.0}}),
        ("DDM", {"_p": {"n": 1}}),
        ("DDM", {"_drift_detected": 3}),
        ("DDM", {"_p": {"n": -1, "_mean": 0.5}}),
        ("KSWIN", {"_rng": [3, [1, 2], None]}),
        ("KSWIN", {"window": 3}),
        ("FHDDM", {"_sliding_window": ["text"]}),
        ("HDDMW", {"_total": None}),
        ("HDDMA", {"more": 1}),
    ],
)
def test_a_state_that_a_detector_cannot_have(name, spoil):
    parameters = PARAMETERS.get(name, {})
    saved = state.write(RiseDetector(name, parameters))
    with pytest.raises(BadDrift):
        state.read(name, parameters, copy.deepcopy(saved) | spoil)
    state.read(name, parameters, saved)


def test_what_cannot_be_written_is_refused_by_name():
    detector = RiseDetector("DDM", {})
    detector.river._p = object.__new__(type("Foreign", (), {}))
    with pytest.raises(BadDrift, match="Foreign`, which a snapshot cannot hold as data"):
        state.write(detector)
