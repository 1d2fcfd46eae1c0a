"""What the tests share."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

# The tests run outside of the repository, next to an installed package.
ROOT = pathlib.Path(os.environ.get("LOWTIDE_ROOT") or pathlib.Path(__file__).resolve().parents[3])
CORPUS = ROOT / "corpus"


def skip(what: str, reason: str) -> None:
    """Skip a test loudly. Where the variable CI is set, what is missing can be installed: a failure."""
    if os.environ.get("CI"):
        raise RuntimeError(f"{what}: {reason}")
    print(f"SKIPPED: {what}: {reason}")
    pytest.skip(reason, allow_module_level=True)


@pytest.fixture(scope="session")
def program() -> Callable[..., str]:
    """Return a function that runs the program and returns its output."""
    binary = os.environ.get("LOWTIDE", str(ROOT / "target/debug/lowtide"))
    if not os.path.exists(binary):
        skip("python: the program", f"{binary} is not built")

    def run(*arguments: Any, fails: bool = False) -> str:
        done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == fails, done.stderr
        return done.stderr if fails else done.stdout

    return run


@pytest.fixture
def corpus() -> pathlib.Path:
    """Return a file of the repository's corpus."""
    return CORPUS / "rocprim.jsonl.gz"
