# SPDX-License-Identifier: Apache-2.0
"""Placements, questions and times, which are those of the command."""
import copy
import json
import multiprocessing
import os
import pickle
import subprocess

import numpy as np
import pytest

import collage
from conftest import ROOT


def command(build, *arguments):
    environment = dict(os.environ, COLLAGE_COSTS="estimate")
    environment.pop("COLLAGE_RULES", None)
    done = subprocess.run([build / "bin/collagec", *map(str, arguments), "--costs=estimate", "--cache=", "--threads=1",
                           "--json"],
                          check=True, env=environment, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def test_placement(digits, build, digits_path, tmp_path):
    placement = digits.placement
    assert placement.columns == ["node", "op", "partition", "backend", "device", "rules", "macs", "flops", "results"]
    assert placement.column("node") == ["conv1", "relu1", "conv2", "relu2", "pool", "flat", "hidden", "relu3", "logits"]
    assert all(len(row["rules"]) == 1 for row in placement)
    assert placement[0]["op"] == "Conv" and placement[0]["results"] == ["f32[1, 16, 8, 8]"] and placement[0]["macs"] == 9216
    document = command(build, digits_path, "-o", tmp_path / "digits.collage")["placement"]
    for part in ("model", "objective", "cost", "work", "partitions", "conversions", "refused"):
        assert placement.document[part] == document[part]
    assert placement.value == document["objective"]["value"] and placement.is_optimal and placement.bound <= placement.value
    assert placement.partitions.column("id") == [one["id"] for one in document["partitions"]]
    assert "npu" in placement.backends.column("backend")
    assert "search      optimal" in placement.summary
    assert digits.placement is placement


def test_columns_of_a_model_without_nodes(digits):
    class Placed:
        def nodes_json(self):
            return "[]"

        def summary_json(self):
            return '{"placement": {"partitions": [], "conversions": []}, "backends": []}'

        def summary(self):
            return ""

        text = summary

    empty, full = collage.Placement(Placed()), digits.placement
    assert empty.columns == full.columns and empty.conversions.columns == full.conversions.columns
    assert empty.partitions.columns == full.partitions.columns[:9] and empty.partitions.column("id") == []
    assert empty.backends.columns == full.backends.columns


def test_table_as_text(digits):
    lines = str(digits.placement).split("\n")
    assert lines[0].split() == digits.placement.columns
    assert len(lines) == 10 and lines[1].startswith("conv1 ")
    assert repr(digits.placement).startswith("<Placement of 9 rows: node, op, ")
    assert lines[3].startswith("conv2 ") and "294.9k" in lines[3]
    table = collage.Table([{"a": 1.0}, {"b": ["x", "y"]}])
    assert table == [{"a": 1.0, "b": None}, {"a": None, "b": ["x", "y"]}] and str(table) == "a  b\n1  -\n-  x, y"


def test_tables_fit(digits):
    tables = (digits.placement, digits.placement.backends, digits.placement.partitions, digits.placement.conversions,
              digits.compare(), digits.profile(), collage.backends())
    for table in tables:
        assert max(map(len, str(table).split("\n"))) <= 120, table.columns
    times = collage.Table([{"cost_s": 0.0005363, "seconds": 2.0, "share": 0.123}, {"cost_s": 3e-9, "seconds": 0.0}])
    assert str(times) == "cost      seconds  share\n536.3 us  2 s      12.3 %\n3 ns      0 s      -"
    wide = collage.Table([{"text": "x" * 300, "number": 7}])
    assert str(wide).split("\n")[1] == "x" * 39 + "…  7"


def test_backends(build):
    table = collage.backends()
    assert table.columns == ["name", "kind", "runs_by", "reason", "rules", "file"]
    kinds = dict(zip(table.column("name"), table.column("kind")))
    assert kinds["host"] == "real" and kinds["npu"] == "model of a chip"
    assert set(kinds.values()) <= {"real", "absent", "model of a chip"}
    assert all(row["reason"] for row in table if row["kind"] == "absent")
    (own,) = collage.backends("rules 1\nbackend mine {\n  runtime host_jit\n  rule r {\n    match y = Relu(x)\n    cost 1 us\n  }\n}\n")
    assert (own["name"], own["kind"], own["rules"], own["file"]) == ("mine", "real", 1, "<rules[0]>")
    with pytest.raises(collage.DiagnosticError, match="no/such.rules"):
        collage.backends("no/such.rules")


def test_pandas(digits):
    pytest.importorskip("pandas")
    frame = digits.placement.to_pandas()
    assert list(frame.columns) == digits.placement.columns
    assert frame.groupby("op")["macs"].sum()["Conv"] == sum(
        row["macs"] for row in digits.placement if row["op"] == "Conv")


def test_explain(digits, build, digits_path):
    why = digits.explain("conv1")
    expected = command(build, "why", digits_path, "conv1")["why"]
    assert [one.answer for one in why] == [one["answer"] for one in expected]
    assert [row for row in why[0].rows] == [(row["label"], row["text"]) for row in expected[0]["rows"]]
    assert str(why).startswith("%conv1 (Conv) runs on ")
    why_not = digits.explain("conv*", "openblas")
    assert [one.answer for one in why_not] == [
        one["answer"] for one in command(build, "why-not", digits_path, "conv*", "openblas")["why_not"]]


def test_explain_names_arguments(digits):
    (answer,) = digits.explain("conv1", "npu")
    assert "a model of a chip" in answer.answer and "target='npu'" in answer.answer and "-t" not in answer.answer


def test_explain_measures_where_it_is_asked_to(compiled):
    text = ("model @small(%x: f32[1, 8, 4, 4]) -> (%y: f32[1, 8, 4, 4]) {\n  %w = const random seed 1 : f32[8, 8, 1, 1]\n"
            "  %c = Conv(%x, %w)\n  %y = Relu(%c)\n}\n")
    program = compiled(text, rules=[ROOT / "rules/host.rules", ROOT / "rules/onednn.rules"], costs="measured")
    for measure in (False, True):
        (answer,) = program.explain("c", measure=measure, progress=False)
        assert answer.answer.startswith("%c (Conv) runs on ")
    # What is known now needs no mark.
    assert not any(text.startswith("about ") for _, text in answer.rows)


def test_compare(digits, build, digits_path):
    table = digits.compare()
    expected = command(build, "compare", digits_path)["compare"]["strategies"]
    assert table.column("strategy") == [one["strategy"] for one in expected]
    assert table.column("predicted_s") == [one.get("predicted_s") for one in expected]
    assert table[0]["strategy"] == "optimal" and table[0]["macs_onednn"] == expected[0]["mac_share"].get("onednn")
    assert "measured_median_s" not in table.columns


def test_compare_with_runs(digits):
    table = digits.compare(runs=2)
    assert table[0]["measured_median_s"] > 0 and table[0]["measured_difference"] < 1e-4


def test_profile(digits, images):
    for profile in (digits.profile(), digits.profile(images[:1]), digits.profile(image=images[:1])):
        assert profile.columns == ["kind", "what", "seconds", "share"] and len(profile) > 0
        assert profile.column("seconds") == sorted(profile.column("seconds"), reverse=True)
        assert sum(profile.column("share")) == pytest.approx(1)
    with pytest.raises(ValueError):
        digits.profile(images)


def test_save_and_load(digits, images, tmp_path, build, digits_path):
    digits.save(tmp_path / "digits.collage")
    loaded = collage.load(tmp_path / "digits.collage")
    np.testing.assert_array_equal(loaded(images[:1]), digits(images[:1]))
    two_threads = collage.load(str(tmp_path / "digits.collage"), threads=2)
    np.testing.assert_allclose(two_threads(images[:1]), digits(images[:1]), rtol=1e-4, atol=1e-4)
    assert loaded.placed_model == digits.placed_model and "partition" in loaded.placed_model
    assert len(loaded.profile()) == len(digits.profile())
    placement = loaded.placement
    for column in ("node", "op", "partition", "backend", "device", "results"):
        assert placement.column(column) == digits.placement.column(column), column
    assert placement.columns == digits.placement.columns and set(placement.column("macs")) == {None}
    for column in ("id", "backend", "device", "rules", "nodes"):
        assert placement.partitions.column(column) == digits.placement.partitions.column(column), column
    assert placement.partitions.column("cost_s") == pytest.approx(digits.placement.partitions.column("cost_s"))
    assert placement.conversions.column("value") == digits.placement.conversions.column("value")
    for question in (lambda: loaded.explain("conv1"), loaded.compare):
        with pytest.raises(collage.CollageError, match="read from a package"):
            question()
    subprocess.run([build / "bin/collage-run", tmp_path / "digits.collage", "--about"], check=True, stdout=subprocess.PIPE)


def test_packages_in_memory(digits, images, tmp_path):
    package = digits.to_bytes()
    digits.save(tmp_path / "digits.collage")
    assert package == (tmp_path / "digits.collage").read_bytes()
    for given in (package, bytearray(package), memoryview(package)):
        np.testing.assert_array_equal(collage.load(given)(images[:1]), digits(images[:1]))
    with pytest.raises(collage.CollageError, match="^'<bytes>': "):
        collage.load(package[:100])


def test_pickles(digits, images):
    again = pickle.loads(pickle.dumps(digits))
    np.testing.assert_array_equal(again(images[:1]), digits(images[:1]))
    assert again.placement.column("node") == digits.placement.column("node")
    np.testing.assert_array_equal(copy.deepcopy(digits)(images[:1]), digits(images[:1]))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(digits, (images[:1],)), digits(images[:1]))


def test_names_in_placed_texts():
    from collage import _placed_text

    nodes, partitions, conversions = _placed_text.tables(
        'model @"a b"(%"x:0": f32[2, 3]) -> (%y: f32[2]) {\n'
        '  %w = const splat 0.5 : f32[2]\n'
        '  %"x:0.npu[0]" = convert %"x:0" to npu[0] NHWC f16 cost 1.5us : f32[2, 3]\n'
        '  %"q\\"q", _ = partition @"p 1" on npu(npu[0] + npu[1]) split %z along rows rule "a\\nb", "c" cost 2ms (%"x:0.npu[0]") -> (host) {\n'
        '    %z, %"q\\"q" = Split(%"x:0", _) {axis = 1} : f32[2], i64[]\n'
        '    _, %y = TopK(%z) : _, f32[2] on npu[0]\n  }\n}\n')
    assert [(one["node"], one["op"], one["results"]) for one in nodes] == [
        ("z", "Split", ["f32[2]", "i64[]"]), ("y", "TopK", ["f32[2]"])]
    (partition,) = partitions
    assert (partition["id"], partition["backend"], partition["device"]) == ("p 1", "npu", "npu[0] + npu[1]")
    assert partition["rules"] == ["a\nb", "c"] and partition["cost_s"] == pytest.approx(2e-3)
    assert conversions == [{"value": "x:0", "to": "npu[0] NHWC f16", "cost_s": pytest.approx(1.5e-6)}]
