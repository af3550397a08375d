# SPDX-License-Identifier: Apache-2.0
"""Arguments of `compile` as the settings of the C interface (`collage_compiler_set`): pairs of a name and a text."""
from __future__ import annotations

import numbers
import operator
import os
from typing import Any, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

Setting = Tuple[str, str]
PathOrText = Union[str, "os.PathLike[str]"]
#: One selection, several, or what each one maps to: `"conv1=npu"`, `["conv1=npu", "fc=host"]`, `{"conv1": "npu"}`.
Entries = Union[str, Sequence[str], Mapping[str, Any]]
Dims = Union[int, str, Sequence[int]]

#: Keys of `constraints`.
CONSTRAINTS = ("place", "forbid", "together", "memory", "allow")


def is_text(given: PathOrText) -> bool:
    """A string with a line break is the text itself; any other string is a path."""
    return isinstance(given, str) and "\n" in given


def path_of(path: PathOrText, what: str) -> bytes:
    """The path as the bytes of the file system: names need not be UTF-8. The C interface takes texts that end with a zero
    byte, so none may be inside."""
    return os.fsencode(checked_text(os.fsdecode(path), what))


def checked_text(text: Any, what: str) -> str:
    """The text, if it is one that means something to the C interface."""
    if not isinstance(text, str):
        raise TypeError(f"{what}: want a string, not {type(text).__name__}")
    if not text or "\0" in text:
        raise ValueError(f"{what}: the text is empty" if not text else f"{what}: {text!r} has a zero byte")
    return text


def checked_number(number: Any, what: str, least: int) -> int:
    """The integer, if it is at least `least`."""
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError(f"{what}: want an integer, not {type(number).__name__}")
    value = operator.index(number)
    if not least <= value < 1 << 31:
        raise ValueError(f"{what}: {value} is {'less than ' + str(least) if value < least else 'too large'}")
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)


def _entries(given: Entries, name: str) -> Iterator[str]:
    what = f"the constraint {name!r}"
    if isinstance(given, str):
        yield given
    elif isinstance(given, Mapping):
        for key, value in given.items():
            for one in [value] if isinstance(value, str) or not isinstance(value, Iterable) else value:
                number = isinstance(one, numbers.Number) and not isinstance(one, bool)
                yield f"{checked_text(key, what)}={one if number else checked_text(one, what)}"
    elif isinstance(given, Iterable):
        for one in given:
            yield checked_text(one, what)
    else:
        raise TypeError(f"{what}: want a string, a list of them or a dict, not {type(given).__name__}")


def of_constraints(constraints: Optional[Mapping[str, Entries]]) -> List[Setting]:
    """Returns the settings of `{"place": …, "forbid": …}`."""
    if not isinstance(constraints, (Mapping, type(None))):
        raise TypeError(f"constraints: want a dict such as {{'place': …}}, not {type(constraints).__name__}")
    settings = []
    for name, given in (constraints or {}).items():
        if name not in CONSTRAINTS:
            raise ValueError(f"no such constraint: {name!r}; there are {', '.join(CONSTRAINTS)}")
        if name == "together" and isinstance(given, Iterable) and not isinstance(given, (str, Mapping)):
            given = list(given)
            # A list of nodes is one group, a list of lists several.
            groups = [given] if all(isinstance(one, str) and "," not in one for one in given) else given
            given = [one if isinstance(one, str) else ",".join(one) for one in groups]
        settings += [(name, entry) for entry in _entries(given, name)]
    return settings


def of_shapes(shapes: Optional[Mapping[str, Dims]]) -> List[Setting]:
    """Returns the settings of `{"batch": 8, "image": (1, 3, 224, 224), "seq": "1..512"}`."""
    if not isinstance(shapes, (Mapping, type(None))):
        raise TypeError(f"shapes: want a dict such as {{'batch': 8}}, not {type(shapes).__name__}")

    def text(dims: Dims, what: str) -> str:
        if isinstance(dims, str):
            return checked_text(dims, what)
        return "x".join(str(checked_number(dim, what, 0)) for dim in (dims if isinstance(dims, (tuple, list)) else [dims]))

    return [("shape", f"{checked_text(name, 'shapes')}={text(dims, f'the shape of {name!r}')}")
            for name, dims in (shapes or {}).items()]


def of_buckets(buckets: Optional[Mapping[str, Sequence[int]]]) -> List[Setting]:
    """Returns the settings of `{"batch": [1, 8, 32]}`."""
    if not isinstance(buckets, (Mapping, type(None))):
        raise TypeError(f"buckets: want a dict such as {{'batch': [1, 8]}}, not {type(buckets).__name__}")
    settings = []
    for name, sizes in (buckets or {}).items():
        what = f"the buckets of {name!r}"
        if isinstance(sizes, (str, bytes)) or not isinstance(sizes, Iterable):
            raise TypeError(f"{what}: want a list of sizes, not {type(sizes).__name__}")
        texts = [str(checked_number(size, what, 0)) for size in sizes]
        if not texts:
            raise ValueError(f"{what}: the list is empty")
        settings.append(("buckets", f"{checked_text(name, 'buckets')}={','.join(texts)}"))
    return settings


def of_keywords(keywords: Mapping[str, Any]) -> List[Setting]:
    """Returns the settings of further keyword arguments: `cost_db=""`, `target=["npu", "host"]`, `strict=True`."""
    settings = []
    for name, value in keywords.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        settings += [(name.replace("_", "-"), _text(one)) for one in values if one is not None]
    return settings
