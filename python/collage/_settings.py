# SPDX-License-Identifier: Apache-2.0
"""Arguments of `compile` as the settings of the C interface (`collage_compiler_set`): pairs of a name and a text."""
from __future__ import annotations

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


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _entries(given: Entries) -> Iterator[str]:
    if isinstance(given, str):
        yield given
    elif isinstance(given, Mapping):
        for key, value in given.items():
            for one in [value] if isinstance(value, str) or not isinstance(value, Iterable) else value:
                yield f"{key}={one}"
    else:
        yield from given


def of_constraints(constraints: Optional[Mapping[str, Entries]]) -> List[Setting]:
    """Returns the settings of `{"place": …, "forbid": …}`."""
    settings = []
    for name, given in (constraints or {}).items():
        if name not in CONSTRAINTS:
            raise ValueError(f"no such constraint: {name!r}; there are {', '.join(CONSTRAINTS)}")
        if name == "together" and not isinstance(given, (str, Mapping)):
            # A list of nodes is one group, a list of lists several.
            groups = [given] if all(isinstance(one, str) and "," not in one for one in given) else given
            given = [one if isinstance(one, str) else ",".join(one) for one in groups]
        settings += [(name, entry) for entry in _entries(given)]
    return settings


def of_shapes(shapes: Optional[Mapping[str, Dims]]) -> List[Setting]:
    """Returns the settings of `{"batch": 8, "image": (1, 3, 224, 224), "seq": "1..512"}`."""
    def text(dims: Dims) -> str:
        return "x".join(map(str, dims)) if isinstance(dims, (tuple, list)) else str(dims)

    return [("shape", f"{name}={text(dims)}") for name, dims in (shapes or {}).items()]


def of_keywords(keywords: Mapping[str, Any]) -> List[Setting]:
    """Returns the settings of further keyword arguments: `cost_db=""`, `target=["npu", "host"]`, `strict=True`."""
    settings = []
    for name, value in keywords.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        settings += [(name.replace("_", "-"), _text(one)) for one in values if one is not None]
    return settings
