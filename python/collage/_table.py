# SPDX-License-Identifier: Apache-2.0
"""Rows as dicts, as text, and as a DataFrame of pandas."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Sequence

if TYPE_CHECKING:
    import pandas


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return str(value)


class Table(List[Dict[str, Any]]):
    """A list of rows, each a dict with the same keys. Fields that a row lacks are None."""

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
        lines = [self.columns] + [[_cell(row[name]) for name in self.columns] for row in self]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} rows: {', '.join(self.columns)}>"
