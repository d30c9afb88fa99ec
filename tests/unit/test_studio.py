"""The studio without a browser: who is answered, what the fields say, and what a wrong number is told."""

import math
import time

import pytest

pytest.importorskip("starlette", reason="the studio is not installed: pip install 'saltus[studio]'")
pytest.importorskip("httpx", reason="httpx is not installed: pip install httpx")

from starlette.testclient import TestClient

from saltus.scenarios import entries, load
from saltus.studio.app import Studio, finite, infinite
from saltus.studio.forms import fields
from saltus.studio.jobs import Jobs

HERE = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def studio():
    return Studio("bowl")


@pytest.fixture
def client(studio):
    return TestClient(studio.application, base_url=HERE, headers={"x-saltus-token": studio.token})


@pytest.mark.parametrize(
    ("headers", "where"),
    [
        ({}, "/catalogue"),
        ({"x-saltus-token": "wrong"}, "/catalogue"),
        ({"x-saltus-token": "TOKEN", "origin": "http://elsewhere.org"}, "/catalogue"),
        ({"x-saltus-token": "TOKEN", "origin": "null"}, "/run/1"),
        ({"x-saltus-token": "TOKEN", "host": "elsewhere.org:8000"}, "/catalogue"),
        ({}, "/"),
        ({}, "/?token=wrong"),
    ],
)
def test_strangers_are_refused(studio, headers, where):
    given = {name: value.replace("TOKEN", studio.token) for name, value in headers.items()}
    assert TestClient(studio.application, base_url=HERE).get(where, headers=given).status_code == 403


def test_the_own_page_is_answered(client, studio):
    assert client.get("/catalogue", headers={"origin": HERE}).status_code == 200
    page = TestClient(studio.application, base_url=HERE).get(f"/?token={studio.token}")
    assert page.status_code == 200 and "saltus.Studio" in page.text
    assert client.get("/scenario").json()["name"] == "bowl"


def test_all_of_the_catalogue_can_be_picked(client):
    assert [one["name"] for one in client.get("/catalogue").json()] == list(entries())
    for name in entries():
        told = client.get(f"/scenario/{name}").json()
        assert told["fields"], name
        assert load(name).scenario.kind == told["data"]["kind"]


def test_fields_have_the_limits_and_the_help_of_the_scenario():
    import tomllib

    found = {field["key"]: field for field in fields(tomllib.loads(load("bowl").text))}
    mass = found["masses.1.mass"]
    assert (mass["type"], mass["above"], mass["help"]) == ("number", 0, "kg")
    assert (mass["group"], mass["label"]) == ("masses 1", "mass")
    assert found["masses.0.position.1"]["label"] == "position y"
    assert found["surface.type"]["type"] == "choice" or found["surface.type"]["value"] == "sphere"


def test_help_is_that_of_the_table_a_key_stands_in():
    import tomllib

    found = {field["key"]: field for field in fields(tomllib.loads(load("bowl").text))}
    assert found["friction.mu"]["help"].startswith("for every mass")
    assert found["rods.0.between.1"]["label"] == "between 1"


@pytest.mark.parametrize(
    ("name", "keys", "sizes"),
    [
        ("bowl", ("masses.1.position", "masses.1.velocity"), (2, 2)),
        ("billiard-masse", ("start.position", "start.velocity"), (2, 2)),
        ("rails-to-rest", ("start.position", "start.velocity"), (1, 1)),
        ("ellipsoids", ("bodies.1.center", "bodies.1.velocity"), (3, 3)),
        ("stone-down-a-slope", ("body.position", "body.velocity"), (2, 3)),
    ],
)
def test_starts_name_the_keys_that_are_dragged(client, name, keys, sizes):
    start = client.get(f"/scenario/{name}").json()["starts"][-1]
    ends = (start["position"], start["velocity"])
    assert tuple(one["key"] for one in ends) == keys
    assert tuple(len(one["value"]) for one in ends) == sizes


def test_what_has_no_start_that_could_be_dragged_has_no_handles(client):
    assert client.get("/scenario/chain").json()["starts"] == []
    assert client.get("/scenario/gas").json()["starts"] == []


def test_data_changed_in_the_scene_becomes_fields(client):
    data = client.get("/scenario/bowl").json()["data"]
    data["masses"][0]["position"] = [0.25, 0.1]
    told = client.post("/form", json={"name": "bowl", "data": data}).json()
    assert "position = [0.25, 0.1]" in told["text"]
    assert next(one for one in told["fields"] if one["key"] == "masses.0.position.1")["value"] == 0.1


def test_an_ensemble_without_keys_that_vary_is_refused(client):
    data = client.get("/scenario/bowl").json()["data"]
    answer = client.post("/many", json={"name": "bowl", "data": data})
    assert answer.status_code == 422 and "needs keys that vary" in answer.json()["error"]
    assert client.get("/many/99").status_code == 422


def test_a_wrong_number_is_told_in_the_words_of_the_command_line(client):
    data = client.get("/scenario/bowl").json()["data"]
    data["masses"][0]["mass"] = -1.0
    answer = client.post("/run", json={"name": "bowl", "data": data})
    assert answer.status_code == 422
    assert answer.json()["error"] == "`masses.0.mass` must be > 0, got -1.0."


@pytest.mark.parametrize("body", [b"[1]", b"no json", b'{"data": 3}', b'{"data": {"kind": "python", "file": "x.py"}}'])
def test_what_is_no_scenario_is_refused(client, body):
    assert client.post("/run", content=body).status_code == 422


def test_text_becomes_fields_or_a_sentence(client):
    answer = client.post("/form", json={"name": "mine", "text": load("chain").text}).json()
    assert {field["key"] for field in answer["fields"]} >= {"links", "overhang"}
    assert client.post("/form", json={"text": "kind = "}).status_code == 422


def test_infinity_survives_json():
    data = {"solve": {"until": math.inf, "rtol": 1e-8}, "list": [1, -math.inf]}
    assert infinite(finite(data)) == data


def test_a_run_that_cannot_be_made_does_not_end_the_studio(monkeypatch):
    def fail(text):
        raise RuntimeError("something unforeseen")

    jobs = Jobs()
    import tomllib

    data = tomllib.loads(load("bowl").text)
    job = jobs.start("bowl", data)
    monkeypatch.setattr("saltus.studio.jobs.loads", fail)
    job.stop = True  # in case it has begun
    for _ in range(600):
        if job.state in ("failed", "stopped"):
            break
        time.sleep(0.05)
    assert job.state in ("failed", "stopped")
    assert not jobs.busy
