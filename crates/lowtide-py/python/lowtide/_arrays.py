"""Arrays of numbers without a copy: NumPy's if it is installed, memoryviews otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    Numbers = numpy.typing.NDArray[numpy.uint32]

_frombuffer: Any = None


def numbers(data: bytes) -> "Numbers":
    """Return bytes as an array of 32-bit numbers. The array reads the bytes in place and cannot be written.

    Without NumPy, the result is a memoryview: it has the same length, elements and ``tolist()``.
    """
    global _frombuffer
    if _frombuffer is None:
        try:
            from numpy import frombuffer
        except ImportError:
            _frombuffer = False
        else:
            _frombuffer = frombuffer
    if _frombuffer:
        array: "Numbers" = _frombuffer(data, dtype="u4")
        return array
    view: Any = memoryview(data).cast("I")
    return view  # type: ignore[no-any-return]


def as_list(order: Union[Sequence[int], Numbers]) -> list[int]:
    """Return any sequence of numbers as a list of Python's numbers."""
    tolist = getattr(order, "tolist", None)
    result: list[int] = tolist() if tolist is not None else [int(number) for number in order]
    return result
