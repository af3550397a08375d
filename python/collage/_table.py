# SPDX-License-Identifier: Apache-2.0
"""Rows as dicts, as text, and as a DataFrame of pandas."""
from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Sequence

if TYPE_CHECKING:
    import pandas

_WIDTH = 120  # of a text that no terminal shows
_CELL = 40  # characters of a cell at most
_LEAST = 6  # to which a column may shrink
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def time_text(seconds: float) -> str:
    """`12.3 us`"""
    factor, unit = next(((factor, unit) for factor, unit in _UNITS if abs(seconds) >= factor), _UNITS[-1])
    return f"{seconds / factor:.4g} {unit}" if seconds else "0 s"


def _number_text(number: float) -> str:
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= max(factor, 1e5):
            return f"{number / factor:.4g}{unit}"
    return f"{number:.0f}" if float(number).is_integer() else f"{number:.4g}"


def _is_time(column: str) -> bool:
    return column.endswith("_s") or column == "seconds"


def _cell(column: str, value: Any) -> str:
    if value is None or value == []:
        return "-"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if _is_time(column):
            return time_text(value)
        return f"{100 * value:.3g} %" if column == "share" or column.startswith("macs_") else _number_text(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return str(value)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[:width - 1] + "…"


def _fit(widths: List[int], most: int) -> None:
    """Takes from the widest columns until all fit into `most` characters, if they can."""
    over = sum(widths) + 2 * (len(widths) - 1) - most
    while over > 0 and max(widths) > _LEAST:
        widest = widths.index(max(widths))
        widths[widest] -= 1
        over -= 1


class Table(List[Dict[str, Any]]):
    """A list of rows, each a dict with the same keys. Fields that a row lacks are None.

    As text, times have units, long cells are cut, and lines are as long as the terminal has room for.
    """

    def __init__(self, rows: Iterable[Dict[str, Any]] = (), columns: Sequence[str] = ()) -> None:
        given = list(rows)
        names = list(columns)
        for row in given:
            names += [name for name in row if name not in names]
        super().__init__({name: row.get(name) for name in names} for row in given)
        self.columns = names

    def column(self, name: str) -> List[Any]:
        """One field of all rows."""
        return [row[name] for row in self]

    def to_pandas(self) -> "pandas.DataFrame":
        """The same as a DataFrame; needs pandas."""
        import pandas

        return pandas.DataFrame(list(self), columns=self.columns)

    def __str__(self) -> str:
        lines = [[name[:-2] if name.endswith("_s") else name for name in self.columns]]
        lines += [[_cell(name, row[name]) for name in self.columns] for row in self]
        widths = [min(_CELL, max(len(line[i]) for line in lines)) for i in range(len(self.columns))]
        if widths:
            is_terminal = sys.stdout is not None and sys.stdout.isatty()
            _fit(widths, shutil.get_terminal_size((_WIDTH, 24)).columns if is_terminal else _WIDTH)
        return "\n".join("  ".join(_cut(cell, width).ljust(width) for cell, width in zip(line, widths)).rstrip()
                         for line in lines)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} rows: {', '.join(self.columns)}>"
