"""What the API answers is what the command line prints."""

import os
import re
import time
from pathlib import Path

import jsonschema
import msgspec
import pytest

from fingerprint import catalog
from fingerprint.explain.contract import Diff
from fingerprint.gate.contract import Verdict
from fingerprint.report.json import schema
from fingerprint.service.api.app import REFUSALS
from fingerprint.service.api.routes.events import made_at
from fingerprint.store import Store
from fingerprint.store.events import Event
from fingerprint.timeline.contract import Timeline
from tests.service.api.conftest import Api
from tests.service.api.small import AREAS
from tests.waiting import until


def test_a_service_that_has_not_read_the_host_yet_says_so(api: Api) -> None:
    answer = api("GET", "/v1/snapshot")
    assert answer.status == 503
    assert answer.json == {"error": "the host has not been read yet: ask again in some seconds"}


def test_a_snapshot_is_taken_now_and_is_the_newest_from_then_on(api: Api) -> None:
    taken = api.post("/v1/snapshot")
    assert set(taken["sections"]) == set(AREAS)
    jsonschema.validate(taken, catalog.schema())
    assert api.get("/v1/snapshot") == taken
    assert api.get("/v1/snapshot?areas=cpu&areas=memory")["sections"].keys() == {"cpu", "memory"}


def test_an_area_that_is_none_is_named(api: Api) -> None:
    api.post("/v1/snapshot")
    assert "there is no area 'cpus'" in api("GET", "/v1/snapshot?areas=cpus").json["error"]


def test_a_snapshot_goes_into_another_store(api: Api, tmp_path: Path) -> None:
    taken = api("POST", "/v1/snapshot?form=export")
    (tmp_path / "export.json").write_bytes(taken.content)
    with Store.open(tmp_path / "other.db") as other:
        assert other.import_file(tmp_path / "export.json").snapshots == 1
        assert other.snapshot(api.get("/v1/snapshot")["id"]).readings.keys() == {(area, "") for area in AREAS}


def test_a_run_is_begun_measured_ended_shown_and_exported(api: Api, tmp_path: Path) -> None:
    sent = {"name": "run-A", "pid": os.getpid(), "benchmark": "decode", "workload": {"concurrency": 8}}
    begun = api.post("/v1/runs", sent, status=201)
    assert (begun["name"], begun["attempt"], begun["state"]) == ("run-A", 1, "open")
    measured = {"metrics": [{"name": "verify_ms", "values": [29.4, 29.6]}, {"name": "accept_length", "values": [2]}]}
    assert api.post("/v1/runs/run-A/metrics", measured) == {"added": 2}
    assert api.post(f"/v1/runs/{begun['id']}/end")["state"] == "closed"
    shown = api.get("/v1/runs/run-A")
    assert shown["schema"] == "fingerprint.run/1"
    assert shown["workload"] == {"concurrency": 8}
    assert shown["metrics"]["verify_ms"]["samples"] == [29.4, 29.6]
    assert [run["name"] for run in api.get("/v1/runs")["runs"]] == ["run-A"]
    (tmp_path / "export.json").write_bytes(api("GET", "/v1/runs/@/export").content)
    with Store.open(tmp_path / "other.db") as other:
        assert [row.name for row in other.import_file(tmp_path / "export.json").runs] == ["run-A"]


def test_what_cannot_be_begun_or_ended_is_a_conflict_and_says_why(api: Api) -> None:
    answer = api("POST", "/v1/runs", {"name": "run-A", "port": 1})
    assert (answer.status, answer.json) == (409, {"error": "no such server runs here"})
    api.post("/v1/runs", {"name": "run-A", "pid": os.getpid()}, status=201)
    api.post("/v1/runs/run-A/end")
    assert api("POST", "/v1/runs/run-A/end").status == 409
    assert api("POST", "/v1/runs/run-B/end").status == 404


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"name": "run-A"}, "either pid or port"),
        ({"name": "run-A", "pid": 1, "port": 1}, "either pid or port"),
        ({"name": "../run", "pid": 1}, "name: "),
        ({"name": "run-A", "pid": "1"}, "pid: Input should be a valid integer"),
        ({"name": "run-A", "pid": 1, "verse": 1}, "verse: Extra inputs are not permitted"),
        ({"name": "run-A", "pid": 1, "vary": ["gpu//x"]}, "vary.0: "),
    ],
)
def test_a_run_that_cannot_be_meant_is_refused_in_one_sentence(api: Api, sent: object, says: str) -> None:
    answer = api("POST", "/v1/runs", sent)
    assert answer.status == 422
    assert says in answer.json["error"]


@pytest.mark.parametrize("metric", [{"name": "wall_time", "values": [1]}, {"name": "a\nb", "values": [1]}])
def test_a_metric_that_none_can_be_is_refused(api: Api, metric: object) -> None:
    api.post("/v1/runs", {"name": "run-A", "pid": os.getpid()}, status=201)
    assert api("POST", "/v1/runs/run-A/metrics", {"metrics": [metric]}).status == 422
    assert api("POST", "/v1/runs/run-A/metrics", b'{"metrics": [{"name": "x", "values": [NaN]}]}').status == 422


def test_a_run_is_marked_remarked_on_renamed_and_removed(api: Api) -> None:
    two_runs(api)
    assert api.post("/v1/runs/run-A/good")["good"] is True
    assert api.get("/v1/runs/@good")["name"] == "run-A"
    assert api.post("/v1/runs/run-A/good", {"good": False})["good"] is False
    assert api.post("/v1/runs/run-A/notes", {"text": "after the BIOS update"}) == {"added": 1}
    assert api.get("/v1/runs/run-A")["notes"] == ["after the BIOS update"]
    assert api.post("/v1/runs/run-A/name", {"name": "thursday"})["name"] == "thursday"
    gone = api("DELETE", "/v1/runs/thursday").json
    assert ([run["name"] for run in gone["runs"]], gone["snapshots"]) == (["thursday"], 2)
    assert [run["name"] for run in api.get("/v1/runs")["runs"]] == ["run-B"]


def test_what_cannot_be_changed_of_a_run_is_refused_and_says_why(api: Api) -> None:
    two_runs(api)
    api.post("/v1/runs", {"name": "run-A", "pid": os.getpid()}, status=201)
    going = api("DELETE", "/v1/runs/run-A")
    assert (going.status, going.json) == (409, {"error": "run-A#2 goes on: remove it when it has ended"})
    assert len(api.get("/v1/runs?name=run-A")["runs"]) == 2
    taken = api("POST", "/v1/runs/run-A/name", {"name": "run-B"})
    assert taken.status == 409
    assert "runs named run-B exist already" in taken.json["error"]
    assert "it is empty" in api("POST", "/v1/runs/run-A/notes", {"text": " "}).json["error"]
    assert api("POST", "/v1/runs/run-A/name", {"name": "../etc"}).status == 422
    for method, path in (("DELETE", ""), ("POST", "/good")):
        assert api(method, f"/v1/runs/run-C{path}").status == 404


def two_runs(api: Api) -> None:
    for name, value in (("run-A", 19.2), ("run-B", 29.6)):
        api.post("/v1/runs", {"name": name, "pid": os.getpid(), "benchmark": "decode"}, status=201)
        api.post(f"/v1/runs/{name}/metrics", {"metrics": [{"name": "verify_ms", "values": [value]}]})
        api.post(f"/v1/runs/{name}/end")


def test_a_diff_is_the_contract(api: Api) -> None:
    two_runs(api)
    diff = api.get("/v1/diff?a=run-A&b=run-B&metric=verify_ms")
    jsonschema.validate(diff, schema(Diff))
    assert [metric["name"] for metric in diff["metrics"]] == ["verify_ms"]
    assert "was measured in neither" in api("GET", "/v1/diff?a=run-A&b=run-B&metric=nothing").json["error"]


def test_a_gate_judges_the_host_by_the_policies_that_are_sent(api: Api) -> None:
    text = '[[expect]]\nfact = "kernel/release"\nequals = "0.0"\n'
    verdict = api.post("/v1/gate", {"policies": [{"text": text, "name": "ours.toml"}]})
    jsonschema.validate(verdict, schema(Verdict))
    assert verdict["outcome"] == "fail"
    assert verdict["policies"] == ["ours.toml"]
    assert api.post("/v1/gate")["outcome"] in ("pass", "fail", "cannot_tell")
    refused = api("POST", "/v1/gate", {"policies": [{"text": "[[expect]]\nfakt = 1", "name": "ours.toml"}]})
    assert refused.status == 422
    assert refused.json["error"].startswith("ours.toml:2: there is no key 'fakt'")


def test_a_gate_compares_with_a_run(api: Api) -> None:
    two_runs(api)
    assert api.post("/v1/gate", {"baseline": "run-A"})["baseline"] == "run-A"
    assert api("POST", "/v1/gate", {"baseline": "/etc/passwd"}).status == 404


MADE = made_at("01JD5X0000")


def an_event(number: int, kind: str = "state") -> Event:
    ulid = f"01JD5X00000000000000000{number:03}"
    return Event(ulid, os.uname().nodename, MADE + number, MADE + number, kind, "kernel/release", "6.1", "6.2")  # type: ignore[arg-type]


def test_events_of_a_time_and_kind_are_listed(api: Api) -> None:
    with Store.open(api.service.path) as store:
        store.add_events([an_event(1), an_event(2, "boot"), an_event(3)])
    told = api.get(f"/v1/events?kinds=state&since={MADE + 2}")
    assert [(event["until"], event["was"], event["is"]) for event in told] == [(MADE + 3, "6.1", "6.2")]
    assert len(api.get("/v1/events")) == 3
    assert api("GET", "/v1/events?kinds=states").status == 422


def test_the_timeline_is_the_contract(api: Api) -> None:
    two_runs(api)
    told = api.get("/v1/timeline")
    jsonschema.validate(told, schema(Timeline))
    assert [run["name"] for run in told["runs"]] == ["run-A", "run-B"]
    assert api.get("/v1/timeline?until=1")["runs"] == []


def test_health_and_metrics_tell_what_is_wrong(api: Api) -> None:
    api.post("/v1/snapshot")
    api.service.trouble = "no space is left"
    health = api.get("/v1/health")
    assert (health["ok"], health["says"], health["store"]) == (False, "no space is left", "no space is left")
    page = api("GET", "/metrics")
    assert page.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    text = page.content.decode()
    for line in (
        "fingerprint_healthy 0",
        "fingerprint_store_healthy 0",
        'fingerprint_rounds_overrun_total{cadence="minutely"} 2',
        'fingerprint_probe_last_good_reading_age_seconds{area="cpu"} 1.5',
        "fingerprint_store_bytes 4096",
    ):
        assert f"\n{line}\n" in text


LINE = re.compile(r'[a-z_]+(\{[a-z_]+="([^"\\\n]|\\.)*"(,[a-z_]+="([^"\\\n]|\\.)*")*\})? -?[0-9.e+-]+')


def test_metrics_are_in_the_text_format_with_conventional_names(api: Api) -> None:
    two_runs(api)
    api.service.store().good(api.get("/v1/runs/run-A")["id"])
    text = api("GET", "/metrics").content.decode()
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    assert all(LINE.fullmatch(line) for line in text.splitlines() if not line.startswith("#"))
    assert all(name.endswith("_total") == (kind == "counter") for name, kind in kinds.items())
    assert 'fingerprint_run_metric{run="run-B",attempt="1",metric="verify_ms",unit="ms"} 29.6' in text
    assert re.search(r'^fingerprint_drift_facts\{run="run-A#1"\} \d+$', text, re.MULTILINE)


def test_the_openapi_document_names_every_path_and_is_published(api: Api) -> None:
    from fingerprint.service.api.app import schema as published

    told = api.get("/openapi.json")
    assert told == msgspec.json.decode(msgspec.json.encode(published()))
    assert {"/v1/snapshot", "/v1/diff", "/v1/gate", "/v1/events/stream", "/metrics"} <= told["paths"].keys()
    assert {"Diff", "Verdict", "Event", "Health", "Timeline"} <= told["components"]["schemas"].keys()


def test_the_page_tells_each_operation_and_each_metric(api: Api) -> None:
    page = (Path(__file__).parents[3] / "docs" / "api.md").read_text()
    told = set(re.findall(r"^\| `([A-Z]+ /\S*)` \|", page, re.MULTILINE))
    paths = api.get("/openapi.json")["paths"]
    assert told == {f"{way.upper()} {path}" for path, ways in paths.items() for way in ways}
    api.post("/v1/snapshot")
    statuses = re.search(r"with ((?:\d+,\s)+\d+ or \d+)", page)
    assert statuses
    assert {int(one) for one in re.findall(r"\d+", statuses[1])} == {*REFUSALS, 405}  # of a way that is no operation
    names = re.findall(r"^# TYPE (\S+)", api("GET", "/metrics").content.decode(), re.MULTILINE)
    ours = {name for name in names if not name.startswith(("fingerprint_api_", "process_"))}
    assert ours == set(re.findall(r"`(fingerprint_[a-z_]+)`", page))


def test_two_who_ask_for_now_at_once_share_what_began_after_they_asked(api: Api) -> None:
    import threading

    threads = [threading.Thread(target=api, args=("POST", "/v1/snapshot")) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= api.service.taken < 12


def test_a_store_that_cannot_be_used_is_503_with_its_sentence(api: Api) -> None:
    api.service.path.write_bytes(b"no database" * 100)
    answer = api("GET", "/v1/runs")
    assert answer.status == 503
    assert "is no SQLite database" in answer.json["error"]


def test_it_stops_while_somebody_listens(api: Api) -> None:
    with api.connected() as connection:
        connection.sendall(b"GET /v1/events/stream HTTP/1.1\r\nhost: x\r\n\r\n")
        until(lambda: api.service.events.listeners == 1)
        began = time.monotonic()
        api.servers.stop()
    assert not api.servers.alive()
    assert time.monotonic() - began < 4
    assert not api.path.exists()


def test_a_page_that_is_asked_in_another_way_tells_which_ways_there_are(api: Api) -> None:
    answer = api("DELETE", "/v1/runs")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST")
    assert api("GET", "/v1/run").json == {"error": "there is no such page: /openapi.json lists all"}
