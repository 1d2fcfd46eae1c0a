"""The examples run, and print what the documentation says."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from conftest import ROOT

EXAMPLES = ROOT / "crates/lowtide-py/examples"


def test_the_notebook_runs() -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(EXAMPLES / "schedule.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [output["data"] for output in outputs if "data" in output]
    assert any("<svg" in data.get("text/html", "") for data in pictures), "a result draws itself"
    assert any("image/png" in data for data in pictures), "the plot is there"
    assert not any(output.output_type == "error" for output in outputs)


def test_the_memory_of_a_model() -> None:
    pytest.importorskip("onnx")
    models = pathlib.Path(pytest.importorskip("onnx").__file__).parent / "backend/test/data/light"
    model = str(models / "light_squeezenet.onnx")
    done = subprocess.run([sys.executable, str(EXAMPLES / "onnx_memory.py"), model], capture_output=True, text=True, check=True)
    head, row = done.stdout.splitlines()
    own, level, best, bound = map(float, row.split()[2:6])
    assert row.endswith("proven") and bound == best <= own and best <= level and own > 1
