"""The package and the program give the same results and the same errors."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

import lowtide

TIMES = {"seconds", "searches"}


def without_times(result: dict[str, Any]) -> dict[str, Any]:
    regions = [{key: value for key, value in region.items() if key not in TIMES} for region in result["regions"]]
    return {**{key: value for key, value in result.items() if key not in TIMES}, "regions": regions}


@pytest.mark.parametrize("goal", ["occupancy", "minreg", "length"])
def test_results_are_those_of_the_program(program: Callable[..., str], corpus: pathlib.Path, tmp_path: pathlib.Path, goal: str) -> None:
    output = tmp_path / "schedules.jsonl"
    printed = json.loads(program("schedule", corpus, "--nodes", 300, "--goal", goal, "--json", "-o", output))
    session = lowtide.Session()
    results = [session.schedule(kernel, target=None, goal=goal, nodes=300) for kernel in lowtide.scan(corpus)]
    assert "".join(line + "\n" for result in results for line in result.to_lines()) == output.read_text()
    for mine, theirs in zip(results, printed["kernels"]):
        own = without_times(mine.to_dict())
        other = without_times(theirs)
        assert own.pop("goal") == goal
        assert own == {key: other[key] for key in own}


def test_errors_have_the_texts_of_the_program(program: Callable[..., str], tmp_path: pathlib.Path) -> None:
    line = '{"lowtide":1,"kernel":"k","region":"r","classes":["vgpr"],"registers":[],"instructions":[{"op":"a","latency":1}]}'
    cases = {
        "torn": line[:-5],
        "unknown": line.replace('"region"', '"colour":1,"region"'),
        "twice": line + "\n" + line,
        "version": line.replace('"lowtide":1', '"lowtide":9'),
        "empty": "",
        "dependence": line[:-1] + ',"deps":[[0,5,"data",1]]}',
    }
    for name, text in cases.items():
        file = tmp_path / f"{name}.jsonl"
        file.write_text(text)
        theirs = program("schedule", file, fails=True)
        with pytest.raises(ValueError) as error:
            lowtide.read(file)
        assert theirs.strip() == f"error: {error.value}", name
    missing = tmp_path / "missing.jsonl"
    theirs = program("schedule", missing, fails=True)
    with pytest.raises(FileNotFoundError) as absent:
        lowtide.read(missing)
    assert theirs.strip() == f"error: {absent.value}"
    file = tmp_path / "class.jsonl"
    file.write_text(line.replace("vgpr", "quux"))
    theirs = program("schedule", file, "--target", "gfx906", fails=True)
    with pytest.raises(ValueError) as mismatch:
        lowtide.schedule(lowtide.read(file)[0])
    assert theirs.strip() == f"error: {mismatch.value}"


def test_certificates_are_those_of_the_program(program: Callable[..., str], corpus: pathlib.Path, tmp_path: pathlib.Path) -> None:
    output = tmp_path / "certificates.jsonl"
    [kernel] = [kernel for kernel in lowtide.scan(corpus)][:1]
    regions = tmp_path / "one.jsonl"
    regions.write_text(kernel.to_lines())
    program("schedule", regions, "--target", "gfx906", "--goal", "minreg", "--nodes", 300, "--certificate", output)
    result = lowtide.schedule(kernel, goal="minreg", nodes=300, certificate=True)
    assert "".join(line + "\n" for line in result.certificate) == output.read_text()
