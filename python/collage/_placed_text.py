# SPDX-License-Identifier: Apache-2.0
"""Tables of a placed model that is there as text, as a package keeps it (grammar/README.md)."""
from __future__ import annotations

import re
from typing import Any, Dict, List, Tuple

Row = Dict[str, Any]

_NAME = r'(?:"(?:[^"\\]|\\.)*"|[\w.$/-]+)'
_STRING = r'"(?:[^"\\]|\\.)*"'
_RESULTS = rf"(?:%{_NAME}|_)(?:, (?:%{_NAME}|_))*"
_PARTITION = re.compile(rf"\s*{_RESULTS} = partition @(?P<name>{_NAME}) on (?P<backend>\w+)\((?P<device>[^)]*)\)"
                        rf"(?: split .*? along \w+)?(?: rule (?P<rules>{_STRING}(?:, {_STRING})*))?(?: cost (?P<cost>[\d.e-]+[munp]?s))? \(")
_CONVERSION = re.compile(rf"\s*%{_NAME} = convert %(?P<value>{_NAME}) to (?P<to>.*?)(?: cost (?P<cost>[\d.e-]+[munp]?s))? : (?P<type>.*)$")
_NODE = re.compile(rf"\s*(?P<results>{_RESULTS}) = (?P<op>[A-Z]\w*)\(.* : (?P<types>.*)$")
_FACTORS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def _plain(name: str) -> str:
    """A name, or a string, without its quotes."""
    if not name.startswith('"'):
        return name
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), name[1:-1])


def _seconds(time: str) -> Any:
    found = re.fullmatch(r"([\d.e-]+)([munp]?s)", time or "")
    return float(found[1]) * _FACTORS[found[2]] if found else None


def _split_types(text: str) -> List[str]:
    """`f32[1, 2], i64[]` => ["f32[1, 2]", "i64[]"], without those that are not there, and without a pin behind them."""
    return re.findall(r"\w+\[[^\]]*\]", re.sub(r" on \S+$", "", text))


def tables(text: str) -> Tuple[List[Row], List[Row], List[Row]]:
    """Rows of nodes, of partitions and of conversions."""
    nodes: List[Row] = []
    partitions: List[Row] = []
    conversions: List[Row] = []
    for line in text.splitlines():
        if found := _PARTITION.match(line):
            rules = [_plain(one) for one in re.findall(_STRING, found["rules"] or "")]
            partitions.append({"id": _plain(found["name"]), "backend": found["backend"], "device": found["device"],
                               "rules": rules, "nodes": [], "cost_s": _seconds(found["cost"])})
        elif found := _CONVERSION.match(line):
            conversions.append({"value": _plain(found["value"]), "to": found["to"], "cost_s": _seconds(found["cost"])})
        elif partitions and (found := _NODE.match(line)):
            inside = partitions[-1]
            first = re.search(rf"%({_NAME})", found["results"])
            node = _plain(first[1]) if first else ""
            inside["nodes"].append(node)
            nodes.append({"node": node, "op": found["op"], "partition": inside["id"], "backend": inside["backend"],
                          "device": inside["device"], "rules": list(dict.fromkeys(inside["rules"])),
                          "results": _split_types(found["types"])})
    return nodes, partitions, conversions
