"""Exceptions. Their texts are those of the program."""

from __future__ import annotations

from typing import NoReturn, Optional

from ._lowtide import InputError, InternalError

__all__ = ["InputError", "InternalError", "Interrupted"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C has ended a search.

    ``result`` has the best schedules found so far. They are legal, and their bounds hold.
    """

    def __init__(self, result: object) -> None:
        super().__init__("the search was interrupted; .result has the best so far")
        self.result = result


def reraise(signal: BaseException, result: object) -> NoReturn:
    """Raise the exception of a signal handler. Ctrl-C carries the result."""
    if isinstance(signal, KeyboardInterrupt):
        raise Interrupted(result) from signal
    raise signal
