"""The page of a processor and its data: what they tell, to whom, and that hostile names stay text."""

import base64
import contextlib
import hashlib
import heapq
import http.client
import json
import re
import shutil
import signal
import socket
import time
import tomllib

import numpy as np
import pytest

from connectors import config
from connectors.config.schema import MetricsAddress
from connectors.files import processor as files
from connectors.model.counts import LAST_REJECTS, LAST_SCORES, Counts
from connectors.runtime import state, top_weights
from connectors.runtime.health import Health
from connectors.runtime.history import History
from connectors.runtime.page import Page
from connectors.runtime.server import serving
from connectors.runtime.top_weights import TopWeights, _short
from tests.connectors.runtime.test_health import ask, file_with, scrape
from tests.connectors.runtime.test_health_of_files import file  # noqa: F401 - a fixture
from tests.helpers.paths import ROOT
from tests.helpers.ports import free_port
from tests.helpers.streams import DEADLINE, phishing, start, twin, wait_for

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "\"><svg onload='alert(1)'>",
    "javascript:alert(1)//${alert(1)}{{7*7}}&lt;b&gt;",
    "\u202egnp.exe\u0000\u001b[31m",
    "__proto__",
]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture
def ended(file):  # noqa: F811
    """Run a processor between files to its end, and serve its state."""

    @contextlib.contextmanager
    def serve(records, **changes):
        found = config.load(file(records, metrics={"port": free_port()}, **changes))
        health = Health(found)
        files.run(found, None, health)
        with serving(health, found.metrics):
            yield found.metrics.port, found

    return serve


def read(port):
    return json.loads(ask(port, "/state.json")[1])


def request(port, method, path, host=None):
    """Return status, headers and content."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    with contextlib.closing(connection):
        connection.request(method, path, headers={"Host": host} if host is not None else {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def test_it_tells_what_the_metrics_and_the_bare_learner_tell(ended):
    records = phishing(300)
    refused = {"id": "bad", "y": True, "a": [1]}
    with ended([*records, refused, refused | {"a": {}}]) as (port, found):
        told, metrics = read(port), scrape(port)
    model, outputs = found.build_learner(), []
    outputs = list(twin(model, records))
    assert told["totals"] == {
        "read": 302, "predicted": 300, "learned": metrics["learned_records_total",], "rejected": 2, "labels": None,
        "queries": None,
    }  # fmt: skip
    (learner,) = told["models"]
    judged = [each for each in outputs if each.get("label") is not None and each["prediction"] is not None]
    wrong = sum(each["label"] != each["prediction"] for each in judged)
    assert (learner["name"], learner["total"]) == ("learner", {"number": len(judged), "loss": wrong})
    assert told["rejects"]["reasons"] == {"features": 2}
    newest, oldest = told["rejects"]["last"]
    assert (newest["source"], oldest["source"]) == ("in.jsonl:302", "in.jsonl:301")
    assert oldest["kind"] == "features" and "'a' is [1]" in oldest["reason"]
    assert abs(newest["time"] - time.time()) < DEADLINE
    scores = np.array([each["score"] for each in outputs if each["score"] is not None])
    assert sum(told["scores"]["numbers"]) == len(scores) == 299
    assert (told["scores"]["edges"][0], told["scores"]["edges"][-1]) == pytest.approx(np.percentile(scores, [1, 99]))
    below = (scores < told["scores"]["edges"][12]).sum()
    assert sum(told["scores"]["numbers"][:12]) == below
    (partition,) = told["partitions"]
    assert partition["examples"] == model["PAClassifier"].n_seen and partition["lag"] is None
    assert partition["updates"] == model["PAClassifier"].n_updates and partition["snapshot_bytes"] > 0


def test_the_largest_weights_are_those_of_the_model_at_its_commit(ended):
    records = phishing(200)
    with ended(records, checkpoint={"every": "1h"}) as (port, found):
        weights = read(port)["partitions"][0]["weights"]
    model = found.build_learner()
    list(twin(model, records))
    expected = heapq.nlargest(10, model["PAClassifier"].weights.items(), key=lambda each: abs(each[1]))
    assert [(each["name"], each["values"]) for each in weights["largest"]] == [(str(n), [w]) for n, w in expected]


def test_long_names_that_begin_alike_are_told_apart(ended):
    long = "shop.orders." + "x" * 80
    records = [{"id": n, f"{long}.one": n % 7 - 3.0, f"{long}.two": 0.1 * (n % 5), "y": n % 7 > 3} for n in range(100)]
    with ended(records, checkpoint={"every": "1h"}) as (port, found):
        weights = read(port)["partitions"][0]["weights"]["largest"]
    model = found.build_learner()
    list(twin(model, records))
    expected = {str(name)[-4:]: weight for name, weight in model["PAClassifier"].weights.items()}
    assert {each["name"][-4:]: each["values"][-1] for each in weights} == expected
    assert all(len(each["name"]) <= 80 for each in weights)


def test_before_the_first_commit_there_is_no_last_one(file):  # noqa: F811
    health = Health(config.load(file([])))
    history = History(health.metrics)
    assert json.loads(state.as_json(health, history))["since_commit"] is None
    health.metrics.report(Work(Counts(checkpoints=1), {}))
    assert json.loads(state.as_json(health, history))["since_commit"] >= 0


def test_a_learner_without_weights_has_none(ended):
    with ended(phishing(30), learner=["KernelPerceptron"]) as (port, _):
        weights = read(port)["partitions"][0]["weights"]
    assert len(weights["time"]) == 1 and weights["largest"] == []


def test_scores_are_those_of_predicted_classes_and_of_numbers(ended):
    records = [{"id": n, "a": n % 7 - 3.0, "b": n % 3, "y": "xyz"[n % 3]} for n in range(60)]
    with ended(records) as (port, found):
        told = read(port)
    outputs = [each for each in twin(found.build_learner(), records) if each["prediction"] is not None]
    chosen = [each["score"][each["prediction"]] for each in outputs]
    assert sum(told["scores"]["numbers"]) == len(chosen) == 59
    assert told["scores"]["edges"][-1] == pytest.approx(np.percentile(chosen, 99))
    assert set(told["classes"]) == {"none", "x", "y", "z"}


def test_what_is_kept_is_bounded():
    total = Counts()
    for n in range(30):
        counts = Counts()
        for m in range(100):
            counts.add_prediction(True, float(100 * n + m), None, False)
            counts.add_reject("format", f"s:{100 * n + m}", "why")
        total += counts
    assert list(total.last_scores) == [float(each) for each in range(3000 - LAST_SCORES, 3000)]
    assert [each.source for each in total.last_rejects] == [f"s:{n}" for n in range(3000 - LAST_REJECTS, 3000)]


def test_it_only_reads(ended):
    with ended(phishing(20)) as (port, _):
        for path, kind in (("/", "text/html; charset=utf-8"), ("/state.json", "application/json")):
            status, headers, content = request(port, "GET", path)
            assert (status, headers["Content-Type"], int(headers["Content-Length"])) == (200, kind, len(content))
            with (
                socket.create_connection(("127.0.0.1", port), DEADLINE) as connection,
                connection.makefile("rb") as found,
            ):
                connection.sendall(f"HEAD {path} HTTP/1.0\r\n\r\n".encode())
                head, _, body = found.read().partition(b"\r\n\r\n")
            assert b" 200 OK\r\n" in head and kind.encode() in head and body == b""
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                assert request(port, method, path)[0] == 405
        for path in ("/index.html", "/state", "/../state.json", "/page.html"):
            assert request(port, "GET", path)[0] == 404


def test_the_policy_allows_what_the_page_holds_and_no_more(ended):
    with ended(phishing(20)) as (port, _):
        answers = [request(port, "GET", path) for path in ("/", "/state.json")]
    (_, headers, content), (_, others, _) = answers
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert others["Content-Security-Policy"] == headers["Content-Security-Policy"]
    for name in ("script", "style"):
        (inner,) = re.findall(f"<{name}.*?>(.*?)</{name}>".encode(), content, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inner).digest()).decode()
        assert policy.pop(f"{name}-src") == f"'sha256-{digest}'"
    assert policy == {
        "default-src": "'none'", "connect-src": "'self'", "img-src": "data:", "base-uri": "'none'",
        "form-action": "'none'", "frame-ancestors": "'none'", "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }  # fmt: skip
    assert (headers["Cross-Origin-Resource-Policy"], headers["X-Content-Type-Options"]) == ("same-origin", "nosniff")
    assert "Access-Control-Allow-Origin" not in headers and "Access-Control-Allow-Origin" not in others
    text = content.decode()
    assert not re.search(
        r"\son\w+\s*=\s*[\"']|\sstyle=|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text
    )
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}, "nothing from outside"


@pytest.mark.parametrize(("host", "page", "is_served"), [
    ("127.0.0.1", None, True), ("127.0.0.1", False, False), ("0.0.0.0", None, False), ("0.0.0.0", True, True),
])  # fmt: skip
def test_beyond_loopback_it_is_served_only_if_the_file_says_so(host, page, is_served):
    served = Page(MetricsAddress(port=1, host=host, page=page), lambda: b"{}")
    for path in ("/", "/state.json"):
        status, _, content = served.answer({"PATH_INFO": path, "REQUEST_METHOD": "GET", "HTTP_HOST": "localhost"})
        assert status == ("200 OK" if is_served else "404 Not Found")
        assert is_served or b"`metrics: {page: true}` serves it here" in content


def test_on_loopback_another_name_is_refused(ended):
    """A page of another site whose name was changed to resolve to this host is that site's origin for a browser."""
    with ended(phishing(20)) as (port, _):
        for path in ("/", "/state.json"):
            for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", "LOCALHOST", ""):
                assert request(port, "GET", path, host)[0] == 200, host
            for host in (f"evil.example:{port}", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example"):
                status, _, content = request(port, "GET", path, host)
                assert status == 403 and b"`localhost` or an IP address" in content and b"learn" not in content
        assert request(port, "GET", "/metrics", "evil.example")[0] == 200, "as before"
    page = Page(MetricsAddress(port=1, host="0.0.0.0", page=True), lambda: b"{}")
    environ = {"PATH_INFO": "/", "REQUEST_METHOD": "GET", "HTTP_HOST": "host.example:9464"}
    assert page.answer(environ)[0] == "200 OK", "who listens for all has any name"


def test_nothing_of_the_configuration_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "hunter2")
    port = free_port()
    security = {"security_protocol": "SASL_SSL", "sasl_plain_username": "whoami", "sasl_plain_password": "${SECRET}"}
    kafka = {"bootstrap_servers": "broker.internal:1", "sasl_mechanism": "PLAIN", **security}
    learner = [{"PAClassifier": {"C": 0.0271828}}]
    found = config.load(file_with(tmp_path, metrics={"port": port}, learner=learner, kafka=kafka))
    assert found.kafka.consumer_settings["sasl_plain_password"] == "hunter2"
    with serving(Health(found), found.metrics):
        told = "".join(ask(port, path)[1] for path in ("/", "/state.json"))
    assert json.loads(told[told.index('{"name"') :])["name"] == "p"
    for secret in ("hunter2", "whoami", "broker.internal", "SASL_SSL", "0.0271828", str(tmp_path)):
        assert secret not in told


class Work:
    """The work of a processor whose counts a test sets."""

    assigned, is_ready, paused, committed_offsets, waiting = 1, True, {}, {}, {}

    def __init__(self, counts, models):
        self.counts, self.models = counts, models


@pytest.fixture
def history(file, monkeypatch):  # noqa: F811
    """A history whose time and work a test sets."""
    health = Health(config.load(file([], metrics={"port": 1})))
    now = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return health, now, History(health.metrics)


def test_the_last_hour_and_no_more(history, file):  # noqa: F811
    health, now, found = history
    work = Work(Counts(), {0: files.FileProcessor(config.load(file([])), file([]).parent / "f", health)._model})
    health.metrics.report(work)
    for n in range(1, 1001):
        now[0] += 10
        work.counts = Counts(read=n * 5, judged=n * 4, right=n * 3)
        found.sample()
    assert len(found.points) == 360
    (model,) = json.loads(state.as_json(health, found))["models"]
    assert model["hour"] == {"number": 359 * 4, "loss": 359} and model["total"] == {"number": 4000, "loss": 1000}
    health.metrics.report(Work(work.counts, {}))
    found.sample()
    columns = json.loads(state.as_json(health, found))["history"]
    assert columns["models"]["learner"]["number"][-2:] == [4000, 4000], "all partitions went to another process"


def test_a_partition_that_comes_with_its_past_adds_nothing_to_the_hour(ended, history, tmp_path):
    steps = {"learner": {"name": "pa", "steps": ["PAClassifier"]}, "challengers": {"arow": ["AROWClassifier"]}}
    health, _, found = history
    with ended(phishing(100), **steps) as (_, settings):
        folder = tmp_path / "snapshots" / "trial" / "files"
        restored = files.FileProcessor(settings, folder, Health(settings))
    (model,) = restored.models.values()
    judged = model.committed.models["pa"].judged
    assert judged > 50
    health.metrics.report(Work(Counts(), {3: model}))
    found.sample()
    assert found.points[-1].models["pa"] == (0, 0.0)
    for loss in (0.0, 1.0, 1.0):
        model.standings.judge({"pa": loss, "arow": 1.0 - loss})
    model.saved_as("x")
    found.sample()
    assert dict(found.points[-1].models) == {"pa": (3, 2.0), "arow": (3, 1.0)}
    told = {each["name"]: each for each in json.loads(state.as_json(health, found))["models"]}
    assert told["pa"]["role"] == "champion" and told["arow"]["role"] == "challenger"
    assert told["pa"]["hour"] == {"number": 3, "loss": 2.0} and told["pa"]["total"]["number"] == judged + 3
    health.metrics.report(Work(Counts(), {}))
    found.sample()
    health.metrics.report(Work(Counts(), {3: model}))
    found.sample()
    assert found.points[-1].models["pa"] == (3, 2.0), "it went and came back"


def test_the_accuracy_is_that_of_the_output(ended, history, tmp_path):
    """A drift can promote a challenger in some partitions: then no model has made all outputs."""
    steps = {"learner": {"name": "pa", "steps": ["PAClassifier"]}, "challengers": {"arow": ["AROWClassifier"]}}
    health, _, found = history
    with ended(phishing(100), **steps) as (_, settings):
        restored = files.FileProcessor(settings, tmp_path / "snapshots" / "trial" / "files", Health(settings))
    work = Work(Counts(judged=10, right=9), dict(restored.models))
    health.metrics.report(work)
    found.points = ()
    found.sample()
    work.counts = Counts(judged=50, right=39)
    found.sample()
    told = json.loads(state.as_json(health, found))["output"]
    assert told == {"total": {"number": 50, "loss": 11}, "hour": {"number": 40, "loss": 10}}


def hostile_records():
    """Records whose names, classes and rejects are hostile."""
    for n in range(120):
        yield {
            "id": HOSTILE[0],
            **{name: (n * (i + 3)) % 11 - 5.0 for i, name in enumerate(HOSTILE)},
            "y": HOSTILE[n % 3],
        }
    for name in HOSTILE:
        yield {"id": name, name: [name], "y": name}


def test_hostile_names_are_the_same_names_in_json(ended):
    with ended(hostile_records()) as (port, _):
        told = read(port)
    assert set(told["classes"]) == {"none", *HOSTILE[:3]}
    names = {each["name"] for each in told["partitions"][0]["weights"]["largest"]}
    assert (
        names <= {_short(f"{label}: {name}") for label in HOSTILE[:3] for name in (*HOSTILE, "INTERCEPT")}
        and len(names) == 10
    )
    assert len(told["rejects"]["last"]) == len(HOSTILE)


def test_text_that_utf8_cannot_hold_is_told_all_the_same(history):
    health, _, found = history
    counts = Counts()
    counts.add_reject("format", "\udcff:1", "a \ud800 surrogate")
    counts.add_prediction("\udfff", float("nan"), None, False)
    health.metrics.report(Work(counts, {}))
    told = json.loads(state.as_json(health, found))
    assert told["rejects"]["last"][0]["reason"] == "a ? surrogate" and told["classes"] == {"?": 1}
    assert told["scores"]["numbers"] == []


@pytest.mark.parametrize("scores", [[1.0, 1.0 + 2**-52], [0.0], [1e308, -1e308, 2.0, 3.0], [1e20, 1e20 + 16384.0]])
def test_scores_of_any_size_are_counted(history, scores):
    health, _, found = history
    counts = Counts()
    for score in scores:
        counts.add_prediction(True, score, None, False)
    health.metrics.report(Work(counts, {}))
    told = json.loads(state.as_json(health, found))["scores"]
    assert sum(told["numbers"]) == sum(abs(score) < 1e150 for score in scores)
    assert len(told["edges"]) == len(told["numbers"]) + 1
    assert all(isinstance(edge, float) for edge in told["edges"])


@pytest.fixture
def browser():
    """Debian's Chromium, or the one that is there."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


# The attempts of a script that runs in the page, were there one: each is what the policy must refuse.
ATTEMPTS = """async () => {
    const refused = {}, script = document.createElement("script"), style = document.createElement("style");
    script.append("window.injected = 'appended'");
    style.append("body { display: none }");
    document.body.append(script, style);
    try { document.body.innerHTML += "<i id=html></i>"; } catch (error) { refused.html = error.name; }
    const other = location.origin.replace("127.0.0.1", "localhost") + "/state.json";
    try { await fetch(other); } catch (error) { refused.fetch = error.name; }
    return {refused, display: getComputedStyle(document.body).display, injected: window.injected || null};
}"""
WATCH = """window.violations = [];
document.addEventListener("securitypolicyviolation", event => violations.push(event.effectiveDirective));"""
MARKUP = "<script>window.injected = 'script'</script><img src='data:,' onerror=\"window.injected = 'handler'\">"


def test_a_regressor_without_partitions_has_no_accuracy(file):  # noqa: F811
    health = Health(config.load(file([], learner=["PARegressor"])))
    health.metrics.report(Work(Counts(read=4, judged=4, error=200.0), {}))
    told = json.loads(state.as_json(health, History(health.metrics)))
    assert told["is_regressor"] and told["models"][0]["total"] == {"number": 4, "loss": 200.0}
    names = {family.name for family in health.metrics.collect()}
    assert "river_margins_absolute_error" in names and "river_margins_progressive_accuracy" not in names


def test_in_a_browser_beside_a_running_processor(file, browser):  # noqa: F811
    port = free_port()
    path = file([], input={"file": "-"}, checkpoint={"guarantee": "none", "every": "50ms"}, metrics={"port": port})
    process = start(path)
    try:
        process.stdin.writelines(json.dumps(record) + "\n" for record in hostile_records())
        process.stdin.flush()
        wait_for(lambda: scrape(port).get(("records_total",)) == 120 + len(HOSTILE), "all records counted")
        wait_for(lambda: read(port)["partitions"][0]["weights"]["largest"], "weights")
        context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme="dark")
        page, said = context.new_page(), []
        page.set_default_timeout(DEADLINE * 1000)
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_selector("section")
        shown = page.inner_text("main")
        for name in HOSTILE[:3]:
            assert name in shown, "as a class, as a feature and in a reason"
        assert page.locator("main img, main script, main iframe, main a, main [onload], main [onerror]").count() == 0
        assert page.locator("svg:not([aria-hidden]):not([role=img][aria-label])").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") == 360, "nothing is wider than the phone"
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.emulate_media(color_scheme="light")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
        assert said == []
        date = "moment(state.time - 864000).includes(String(new Date(1000 * state.time - 864e6).getFullYear()))"
        assert page.evaluate(date) and page.evaluate("moment(state.time - 60) === clock(state.time - 60)")
        tile = "dt:text-is('Records') + dd"
        assert page.inner_text(tile) == str(120 + len(HOSTILE))
        process.stdin.writelines(json.dumps(record) + "\n" for record in hostile_records())
        process.stdin.flush()
        page.wait_for_function(
            "wanted => [...document.querySelectorAll('dt')].some(each => each.textContent === 'Records'"
            " && each.nextElementSibling.textContent === wanted)",
            arg=str(2 * (120 + len(HOSTILE))),
        )  # fmt: skip
        assert said == []
        process.send_signal(signal.SIGSTOP)
        page.wait_for_selector("#status:text-is('the processor does not answer')")
        process.send_signal(signal.SIGCONT)
        page.wait_for_selector("#status:text-is('works')")

        def twice(route):
            told = (found := route.fetch()).json()
            told["partitions"].append(told["partitions"][0] | {"partition": 1})
            route.fulfill(response=found, json=told)

        def without_sums(route):
            told = (found := route.fetch()).json()
            told["is_regressor"] = True
            for judged in (told["output"]["hour"], told["output"]["total"]):
                judged["loss"] = None
            told["partitions"][0]["paused"] = "why"
            told["partitions"].append(told["partitions"][0] | {"partition": 1, "paused": None, "lag": 3})
            told["is_file"], told["scores"] = False, {"edges": [], "numbers": []}
            route.fulfill(response=found, json=told)

        page.route("**/state.json", without_sums)
        page.wait_for_selector("dt:text-is('Mean absolute error, last hour') + dd:text-is('\u2013')")
        assert page.inner_text("dt:text-is('Lag') + dd") == "3 + paused"
        assert "No prediction had a score yet." in page.inner_text("main")
        assert page.evaluate("new Set([0, 1, 2, 3, 4, 5, 6].map(style)).size") == 7, (
            "each of many models has a line of its own"
        )
        alone = page.evaluate("path([[0, 1], [1, null], [2, 1]], x => x, y => y)")
        assert alone == "M0.0 1.0h2h-2M2.0 1.0h2h-2", "a value without neighbours is drawn"
        page.unroute("**/state.json")
        page.route("**/state.json", twice)
        page.wait_for_selector("#partition")
        page.dispatch_event("#partition", "pointerdown")
        page.evaluate("async () => { window.list = document.getElementById('partition'); await refresh(); }")
        assert page.evaluate("document.getElementById('partition') === list"), "an open list stays open"
        page.evaluate("opened = -Infinity")
        page.focus("#partition")
        page.keyboard.press("Alt+ArrowDown")
        page.evaluate("async () => { window.list = document.getElementById('partition'); await refresh(); }")
        assert page.evaluate("document.getElementById('partition') === list"), "also one that the keyboard has opened"
        page.keyboard.press("Escape")
        page.evaluate("opened = -Infinity; scrollTo(0, 0)")
        page.evaluate("refresh()")
        assert page.evaluate("[document.activeElement.id, scrollY]") == ["partition", 0], "the reader stays where he is"
        focused = "[...document.querySelectorAll('.scroll')].indexOf(document.activeElement)"
        page.evaluate("async () => { document.querySelectorAll('.scroll')[1].focus(); await refresh(); }")
        assert page.evaluate(focused) == 1, "a table keeps the focus"
        page.evaluate("getSelection().selectAllChildren(document.querySelector('.reason'))")
        page.wait_for_function("() => opened > 0")
        page.evaluate("refresh()")
        assert page.evaluate("String(getSelection())"), "a reason can be copied"
        page.evaluate("getSelection().empty(); opened = -Infinity")
        page.unroute("**/state.json")
        page.add_init_script(WATCH)
        page.route("**/", lambda route: route.fulfill(response=(found := route.fetch()), body=found.text() + MARKUP))
        page.reload()
        page.wait_for_selector("section")
        page.wait_for_function("() => violations.length >= 2")
        assert set(page.evaluate("violations")) == {"script-src-elem", "script-src-attr"}
        assert page.evaluate(ATTEMPTS) == {
            "refused": {"html": "TypeError", "fetch": "TypeError"}, "display": "block", "injected": None
        }  # fmt: skip
        assert {"connect-src", "style-src-elem", "require-trusted-types-for"} < set(page.evaluate("violations"))
        process.communicate(timeout=DEADLINE)
        page.wait_for_selector("#status:text-is('the processor does not answer')")
        page.evaluate("show()")
        assert page.inner_text("#status") == "the processor does not answer", "also after a change of the size"
    finally:
        process.kill()
        process.communicate()


def test_a_wheel_holds_the_page():
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["connectors"]
    packed = {path for pattern in patterns for path in (ROOT / "connectors").glob(pattern)}
    built = {".py", ".pyc", ".pyx", ".pxd", ".c", ".so"}  # setuptools knows of these
    others = {path for path in (ROOT / "connectors").rglob("*") if path.is_file() and path.suffix not in built}
    others -= {*(ROOT / "connectors" / "model" / "yyjson").iterdir()}  # compiled into `json_rows`
    assert packed == others and ROOT / "connectors" / "runtime" / "page.html" in packed


def test_a_clock_that_is_set_back_keeps_no_more_and_stops_nothing(history, monkeypatch):
    _, now, found = history
    weights, copied = TopWeights(), []
    monkeypatch.setattr(top_weights, "largest", lambda model: copied.append(model) or {"a": 1.0})
    for n in range(1000):
        if n == 500:
            now[0] -= 86_400 * 3
            copied.clear()
        now[0] += 10
        found.sample()
        weights.take({0: "first", 1: "second"})
    assert len(found.points) == 360 and all(now[0] - 3600 < point.time <= now[0] for point in found.points)
    assert copied.count("first") == copied.count("second")
