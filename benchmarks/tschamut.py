"""Real rocks (Tschamut 2014) against ellipsoids of their mass and size: one number calibrated, the rest judged.

    python benchmarks/tschamut.py FOLDER [--copies 40] [--levers 0.08 0.09 0.10]

FOLDER holds `terrain.asc`, `blocks.csv` and `runs.csv`, made from the measurements of WSL/SLF (EnviDat, doi
10.16904/envidat.34, ODbL with DbCL). Every observed run is computed with several random poses at the start and ground
that resists rolling by 25 per cent more or less. Calibrated is the mean lever of rolling friction, on the mean run-out.
With the runs in two halves, each is judged by what the other was calibrated to; and with the lever of all 18, the mean
over the 62 runs that are not in the folder follows from that over all 80, which its README tells.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from pathlib import Path

import numpy as np

SCENARIO = """
kind = "ground_body"
surface = {{ type = "terrain", file = "{terrain}", crs = "local" }}
friction = {{ mu = 0.6, model = "coulomb", rolling_friction = 0.09 }}
impact = {{ law = "soil", restitution = 0.3, reference_mass = 100.0, settle_height = 1e-4 }}
solve = {{ until = "rest", patience = 120.0, rtol = 1e-6, atol = 1e-7 }}
[body]
shape = {{ axes = [0.2, 0.15, 0.18] }}
mass = 60.0
position = [30.0, 235.0]
height = 0.1
"""
LEVERS = (0.08, 0.09, 0.10)  # [m]
MEAN_OF_ALL, ALL = 98.4, 80  # [m], runs
SCATTER = 0.25  # of the lever, from place to place
KEPT = ("run_out", "largest_kinetic_energy", "largest_jump_height", "largest_speed")


def read(folder: Path, name: str) -> list[dict[str, str]]:
    """Rows of one of the tables."""
    with (folder / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def releases(folder: Path, copies: int) -> tuple[dict[str, np.ndarray], list[dict[str, str]], np.ndarray]:
    """Values of the scenario's keys for every copy of every run, the runs, and a factor of the lever for each copy."""
    rng = np.random.default_rng(2014)
    blocks = {row["block_id"]: row for row in read(folder, "blocks.csv")}
    runs = read(folder, "runs.csv")
    columns: dict[str, list[float]] = {}
    for run in runs:
        block = blocks[run["block_id"]]
        known = {f"body.position.{k}": float(run[f"{axis}_m"]) for k, axis in enumerate("xy")}
        known |= {f"body.velocity.{k}": float(run[f"v{axis}_mps"]) for k, axis in enumerate("xyz")}
        known |= {f"body.shape.axes.{k}": 0.5 * float(block[f"size_{axis}_m"]) for k, axis in enumerate("xyz")}
        known["body.mass"] = float(block["mass_kg"])
        for _ in range(copies):
            pose = {f"body.quaternion.{k}": part for k, part in enumerate(rng.normal(size=4))}
            for key, value in (known | pose).items():
                columns.setdefault(key, []).append(value)
    values = {key: np.array(column) for key, column in columns.items()}
    return values, runs, 1.0 + SCATTER * rng.uniform(-1.0, 1.0, copies * len(runs))


def computed(scenario, values, factors: np.ndarray, lever: float) -> dict[str, np.ndarray]:
    """What comes of all copies with this mean lever."""
    from saltus.ensembles.compute import run_samples

    began = time.process_time()
    kept = run_samples.run(scenario, values | {"friction.rolling_friction": lever * factors})
    taken = time.process_time() - began
    left = int((kept["stopped"] == 0).sum())
    told = f"mean run-out {kept['run_out'].mean():.1f} m, {left} of {factors.size} left the map, {taken:.1f} s of CPU"
    print(f"lever {lever:.3f} m: {told}", file=sys.stderr, flush=True)
    return {name: kept[name] for name in (*KEPT, "outcome", "events")}


def best(levers: np.ndarray, means: np.ndarray, wanted: float) -> float:
    """The lever for which the mean run-out is as wanted; it falls with the lever."""
    return float(np.interp(-wanted, -means, levers))


def judged(levers, table, observed, groups) -> dict:
    """Calibrated on all and on either half; `table` has a row of mean run-outs of the runs for each lever."""

    def predicted(lever):
        return np.array([np.interp(lever, levers, column) for column in table.T])

    half = np.arange(len(observed)) % 2 == 0
    told = {}
    for name, use, judge in (("all", half | True, half | True), ("first", half, ~half), ("second", ~half, half)):
        lever = best(levers, table[:, use].mean(axis=1), observed[use].mean())
        off = (predicted(lever) - observed)[judge]
        told[name] = {
            "lever_m": lever,
            "off_in_the_mean_m": float(off.mean()),
            "rms_m": float(np.sqrt((off**2).mean())),
        }
    others = (ALL * MEAN_OF_ALL - observed.sum()) / (ALL - len(observed))
    mean = float(predicted(told["all"]["lever_m"]).mean())
    told["runs_not_seen"] = {"observed_mean_m": others, "computed_mean_m": mean, "off_m": mean - others}
    told["by_block"] = {
        block: {
            "computed_m": float(predicted(told["all"]["lever_m"])[groups == block].mean()),
            "observed_m": float(observed[groups == block].mean()),
        }
        for block in np.unique(groups)
    }
    return told


def main() -> None:
    """Compute, calibrate, judge, and print it as JSON."""
    import saltus
    from saltus.scenarios import loads

    parser = argparse.ArgumentParser(description="Real rocks (Tschamut 2014) against ellipsoids.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--copies", type=int, default=40)
    parser.add_argument("--levers", type=float, nargs="+", default=LEVERS)
    given = parser.parse_args()
    saltus.configure()
    scenario = loads(SCENARIO.format(terrain=(given.folder / "terrain.asc").resolve()))
    values, runs, factors = releases(given.folder, given.copies)
    names = {row["block_id"]: row["name"] for row in read(given.folder, "blocks.csv")}
    observed = np.array([float(run["observed_runout_m"]) for run in runs])
    groups = np.array([names[run["block_id"]] for run in runs])
    all_kept = [computed(scenario, values, factors, lever) for lever in given.levers]
    table = np.array([kept["run_out"].reshape(len(runs), -1).mean(axis=1) for kept in all_kept])
    print(json.dumps(judged(np.array(given.levers), table, observed, groups), indent=1))


if __name__ == "__main__":
    main()
