"""scripts/judge agrees with Lowtide on small regions, and finds a program that claims too much."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import CORPUS, ROOT, skip

if importlib.util.find_spec("ortools") is None:
    skip("python: the judge", "OR-Tools is missing (pip install ortools)")

LOWTIDE = os.environ.get("LOWTIDE", str(ROOT / "target/debug/lowtide"))
FILES = [str(CORPUS / name) for name in ("rocprim.jsonl.gz", "hashcat.jsonl.gz")]

# A program like Lowtide whose figures of the length and of the peak are wrong by one.
LIAR = """#!{python}
import json, subprocess, sys
output = subprocess.run(["{lowtide}", *sys.argv[1:]], stdout=subprocess.PIPE, check=True).stdout
result = json.loads(output)
if "schedule" in sys.argv:
    for region in (region for kernel in result["kernels"] for region in kernel["regions"]):
        region["length_bound"] += 1
        region["peak_bound"]["vgpr"] = region["peak_bound"].get("vgpr", 0) + 1
json.dump(result, sys.stdout)
"""


def judge(goal: str, program: str) -> subprocess.CompletedProcess[str]:
    sizes = ["--min-size", "5", "--max-size", "30", "--sample", "6"]
    solver = ["--nodes", "20000", "--seconds", "60", "--workers", "2"]
    command = [sys.executable, str(ROOT / "scripts" / "judge"), *FILES, "--goal", goal, "--program", program, *sizes, *solver]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("goal", ["minreg", "occupancy"])
def test_the_judge_agrees(goal: str) -> None:
    done = judge(goal, LOWTIDE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "6 equal", done.stdout


@pytest.mark.parametrize("goal", ["minreg", "occupancy"])
def test_the_judge_finds_a_bound_that_is_too_high(goal: str, tmp_path: pathlib.Path) -> None:
    liar = tmp_path / "liar"
    liar.write_text(LIAR.format(python=sys.executable, lowtide=LOWTIDE))
    liar.chmod(0o755)
    done = judge(goal, str(liar))
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1] == "6 CONTRADICTION", done.stdout
