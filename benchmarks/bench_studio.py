"""The studio: from a changed number to a run that can be drawn, after the first run has compiled."""

import os
import time

import saltus

saltus.configure()

from starlette.testclient import TestClient  # noqa: E402  (after the settings)

from saltus.studio.app import Studio  # noqa: E402

NAMES = ("bowl", "billiard-roll", "sticking-pair")
REPEATS = 7


def answer(client, name, data):
    """Run a scenario and fetch what the page draws; wall and CPU seconds of all that."""
    began, busy = time.perf_counter(), time.process_time()
    number = client.post("/run", json={"name": name, "data": data}).json()["number"]
    while (state := client.get(f"/run/{number}").json()["state"]) in ("waiting", "running"):
        time.sleep(0.002)
    assert state == "done", state
    ran = time.perf_counter() - began
    client.get(f"/run/{number}/document")
    return ran, time.perf_counter() - began, time.process_time() - busy


def main():
    studio = Studio()
    client = TestClient(studio.application, base_url="http://127.0.0.1:8000", headers={"x-saltus-token": studio.token})
    print(f"# {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for name in NAMES:
        data = client.get(f"/scenario/{name}").json()["data"]
        answer(client, name, data)
        found = []
        for k in range(REPEATS):
            data["gravity"] = data.get("gravity", 9.81) * (1.0 + 1e-3 * (k + 1))
            found.append(answer(client, name, data))
        ran, drawn, busy = (sorted(one)[REPEATS // 2] for one in zip(*found, strict=True))
        print(
            f"{name:16} run {ran:6.3f} s, with what is drawn {drawn:6.3f} s, CPU {busy:6.3f} s (medians of {REPEATS})"
        )


if __name__ == "__main__":
    main()
