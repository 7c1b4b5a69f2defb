#!/usr/bin/env python3
"""Runs short worlds and keeps what came of them: worlds.json, which tests/simulator/worlds_test.cpp repeats.

    python3 tests/golden/simulator/make.py build/release/nereus

Run it again only where results are meant to change; the difference says how.
"""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
GENERATED = {  # in place of the traces, which are not part of the repository
    "availability.file": "",
    "growth.file": "",
    "growth.first": "900",
    "growth.last": "2200",
}
POLICIES = ["fixed", "elastic-data", "elastic-data-tuned", "adaptive", "oracle"]
WORLDS = [
    ("adapt-v100", {"simulation.steps": "40", "availability.low": "3", "availability.mean_hours": "0.08"}),
    ("adapt-spot-v100", {"simulation.steps": "10", "availability.low": "16", "availability.mean_hours": "0.04"}),
    ("adapt-a100-short", {"simulation.steps": "40", "availability.low": "7", "availability.mean_hours": "0.1",
                          "world.failures_per_machine_day": "4"}),
]
KEPT = ["seed", "steps", "elapsed", "waiting", "wasted", "lost_steps", "out_of_memory", "preempted_sequences"]


def run(program, scenario, overrides):
    command = [program, "simulate", f"examples/{scenario}.toml", "--json", "--seeds", "1", "--policy", *POLICIES]
    for key, value in overrides.items():
        command += [f"--{key}", value]
    result = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    return {policy["policy"]: [{**{key: run[key] for key in KEPT}, "changes": len(run["changes"])}
                               for run in policy["runs"]] for policy in result["policies"]}


worlds = []
for scenario, own in WORLDS:
    overrides = {**GENERATED, **own}
    worlds.append({"scenario": scenario, "overrides": overrides, "policies": run(sys.argv[1], scenario, overrides)})
text = json.dumps(worlds, indent=1)
(HERE / "worlds.json").write_text(text + "\n")
