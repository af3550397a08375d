# SPDX-License-Identifier: Apache-2.0
"""The JSON of `collage-rules list` for list.rules holds what the rules say, as values."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    npu, cpu = json.load(file)
assert (npu["backend"], npu["version"], npu["runtime"]) == ("npu", 3, "sim")
assert npu["at"].endswith("list.rules:10"), npu["at"]
assert npu["instances"] == ["npu[0]", "npu[1]"]
assert npu["devices"] == [{
    "name": "npu", "count": 2, "memory_bytes": 8 << 20,
    "links": [{"to": "host", "bytes_per_second": 4_000_000_000, "latency_ps": 8_000_000, "duplex": True}],
    "queues": ["compute", "copy"]}]
assert npu["attributes"] == [
    {"name": "lanes", "type": "int", "default": 8, "allowed": [8, 16]},
    {"name": "fast", "type": "bool", "default": True, "allowed": []},
    {"name": "rate", "type": "rate", "default": 1.5e9, "allowed": []}]
assert npu["conflicts"] == ["with dsp, gpu"]
assert [(d["kind"], d["name"], d.get("parameters", [])) for d in npu["definitions"]] == [
    ("def where", "enough", ["x", "n"]), ("let", "share", []), ("def", "curve", []), ("let", "part", ["of"]),
    ("def kernel", "slow", ["x"]), ("semantics", "act", ["x", "f"])]
assert npu["definitions"][3]["is"] == "elems(of) / share" and npu["definitions"][4]["cost"] == ["part(x) * 1 ns"]
[rule] = npu["rules"]
assert rule["names"] == ["act.Relu", "act.Tanh"]
assert rule["for"] == "f in {Relu, Tanh}"
assert rule["match"] == ["y = f(x)"]
assert rule["where"] == [{"condition": "rank(x) == 4", "else": "{rank(x)} dimensions"},
                         {"condition": "elems(x) % lanes == 0 and fast"}]
assert rule["tests"] == {"ok": 1, "no": 1}
assert (cpu["runtime"], cpu["instances"], cpu["devices"]) == ("host_jit", ["host"], [])
