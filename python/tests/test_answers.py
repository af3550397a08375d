# SPDX-License-Identifier: Apache-2.0
"""Placements, questions and times, which are those of the command."""
import json
import os
import subprocess

import numpy as np
import pytest

import collage


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
    table = collage.Table([{"a": 1.0}, {"b": ["x", "y"]}])
    assert table == [{"a": 1.0, "b": None}, {"a": None, "b": ["x", "y"]}] and str(table) == "a  b\n1  -\n-  x, y"


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
    why_not = digits.explain("conv*", "npu")
    assert [one.answer for one in why_not] == [
        one["answer"] for one in command(build, "why-not", digits_path, "conv*", "npu")["why_not"]]


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
    for question in (lambda: loaded.placement, lambda: loaded.explain("conv1"), loaded.compare):
        with pytest.raises(collage.CollageError, match="read from a package"):
            question()
    subprocess.run([build / "bin/collage-run", tmp_path / "digits.collage", "--about"], check=True, stdout=subprocess.PIPE)
