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
# Small regions, and some in which two classes share a file and instructions keep a unit for many cycles.
FILES = [str(CORPUS / name) for name in ("rocprim.jsonl.gz", "hashcat.jsonl.gz")]
SMALL = [*FILES, "--min-size", "5", "--max-size", "30"]
SHARED = [str(CORPUS / "matrices" / "gfx90a.jsonl.gz"), "--target", "gfx90a", "--min-size", "16", "--max-size", "64"]

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


def judge(regions: list[str], goal: str, program: str) -> subprocess.CompletedProcess[str]:
    solver = ["--sample", "6", "--nodes", "20000", "--seconds", "60", "--workers", "2"]
    command = [sys.executable, str(ROOT / "scripts" / "judge"), *regions, "--goal", goal, "--program", program, *solver]
    return subprocess.run(command, capture_output=True, text=True, check=False)


CASES = [(SMALL, "minreg"), (SMALL, "occupancy"), (SHARED, "occupancy")]


@pytest.mark.parametrize(("regions", "goal"), CASES)
def test_the_judge_agrees(regions: list[str], goal: str) -> None:
    done = judge(regions, goal, LOWTIDE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "6 equal", done.stdout


@pytest.mark.parametrize(("regions", "goal"), CASES)
def test_the_judge_finds_a_bound_that_is_too_high(regions: list[str], goal: str, tmp_path: pathlib.Path) -> None:
    liar = tmp_path / "liar"
    liar.write_text(LIAR.format(python=sys.executable, lowtide=LOWTIDE))
    liar.chmod(0o755)
    done = judge(regions, goal, str(liar))
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1] == "6 CONTRADICTION", done.stdout
