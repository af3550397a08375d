# SPDX-License-Identifier: Apache-2.0
"""Exceptions with the place of what is wrong."""
import pickle

import numpy as np
import pytest

import collage


def failure(function, *arguments, **keywords):
    with pytest.raises(collage.CollageError) as error:
        function(*arguments, **keywords)
    return error.value


def test_place_in_a_model_text(compiled):
    error = failure(compiled, "model @m(%x: f32[4]) -> (%y: f32[4]) {\n  %y = Relux(%x)\n}\n")
    assert isinstance(error, collage.DiagnosticError)
    assert (error.file, error.line, error.column, error.end_line, error.end_column) == ("<model>", 2, 8, 2, 13)
    assert error.code.startswith("CG") and "Relux" in error.message
    assert any("Relu" in note.message for note in error.notes)
    (diagnostic,) = error.diagnostics
    assert diagnostic.source == "  %y = Relux(%x)" and diagnostic.severity == "error"
    assert str(diagnostic).startswith("<model>:2:8: error: ")
    assert "<model>:2:8: error:" in str(error) and "~~~" in str(error)


def test_place_in_a_rule_text(compiled):
    error = failure(compiled, "model @m(%x: f32[4]) -> (%y: f32[4]) {\n  %y = Relu(%x)\n}\n",
                    rules=["rules 1\nbackend a {\n  runtime host_jit\n  rule r {\n    match y = Nothing(x)\n    cost 1 us\n  }\n}\n"])
    assert (error.file, error.line) == ("<rules[0]>", 5)


def test_every_error_is_there(compiled):
    error = failure(compiled, "model @m(%x: f32[4]) -> (%y: f32[4]) {\n  %a = Relux(%x)\n  %y = Tanhx(%x)\n}\n")
    assert [one.line for one in error.diagnostics] == [2, 3]


def test_place_that_is_no_text(compiled):
    error = failure(compiled, "no/such/model.ir")
    assert (error.file, error.line, error.column) == ("no/such/model.ir", 0, 0)
    assert "cannot read" in error.message


def test_exceptions_can_be_pickled(compiled):
    error = failure(compiled, "no/such/model.ir")
    again = pickle.loads(pickle.dumps(error))
    assert type(error).__module__ == "collage"
    assert str(again) == str(error) and again.diagnostics == error.diagnostics


def test_questions_that_fail_leave_no_trace(compiled, digits_path):
    program = compiled(digits_path)
    assert "no_such_node" in str(failure(program.explain, "no_such_node"))
    error = failure(program.explain, "conv1", "no_such_backend")
    assert len(error.diagnostics) == 1 and "no_such_backend" in error.message
    assert program.explain("conv1")[0].answer.startswith("%conv1 (Conv) runs on ")


def test_packages_that_cannot_be_read(tmp_path, digits_path):
    error = failure(collage.load, tmp_path / "no.collage")
    assert not isinstance(error, collage.DiagnosticError) and "No such file" in str(error)
    assert "is a model as text" in str(failure(collage.load, digits_path))


def test_texts_hold_any_bytes(compiled, tmp_path):
    path = tmp_path / "bytes.ir"
    path.write_bytes(b"model @m(%x: f32[4]) -> (%y: f32[4]) {\n  %y = Relux(%x) // \xff\n}\n")
    error = failure(compiled, path)
    assert str(error) and error.line in (0, 2)
    # The runtime cuts long texts, between characters.
    for before in ("", "x"):
        text = str(failure(collage.load, before + "\u00e9" * 400))
        assert text.startswith("'" + before + "\u00e9") and "\ufffd" not in text and len(text) > 200


@pytest.mark.parametrize("keywords, error", [
    ({"shapes": [3]}, TypeError), ({"shapes": {"batch": None}}, TypeError), ({"shapes": {"batch": 1.5}}, TypeError),
    ({"shapes": {"batch": -1}}, ValueError), ({"shapes": {"x": (1, "2")}}, TypeError), ({"shapes": {3: 1}}, TypeError),
    ({"constraints": ["a"]}, TypeError), ({"constraints": {"place": None}}, TypeError),
    ({"constraints": {"place": {"a": None}}}, TypeError), ({"constraints": {"forbid": [None]}}, TypeError),
    ({"constraints": {"together": None}}, TypeError), ({"constraints": {"together": [["a", None]]}}, TypeError),
    ({"threads": "2"}, TypeError), ({"threads": 0}, ValueError), ({"threads": True}, TypeError),
    ({"objective": None}, TypeError), ({"placement": ""}, ValueError), ({"placement": "a\0b"}, ValueError),
    ({"placement": 3}, TypeError), ({"rules": ["a\0b"]}, ValueError), ({"rules": [None]}, TypeError),
    ({"cache": "a\0b"}, ValueError),
])
def test_wrong_arguments_of_compile(keywords, error):
    # Before the model is looked for: there is none.
    with pytest.raises(error):
        collage.compile("no/such/model.ir", **keywords)


def test_other_wrong_arguments(digits, tmp_path):
    for wrong in (lambda: digits.explain(None), lambda: digits.explain("conv1", 3), lambda: digits.compare("2"),
                  lambda: collage.load(tmp_path / "x", threads="1"), lambda: collage.load(None)):
        with pytest.raises(TypeError):
            wrong()
    for wrong in (lambda: digits.explain(""), lambda: digits.explain("conv1", ""), lambda: digits.explain("a\0b"),
                  lambda: digits.compare(-1), lambda: collage.load(tmp_path / "x", threads=-3),
                  lambda: collage.load("a\0b"), lambda: digits.save("a\0b"), lambda: collage.compile("a\0b")):
        with pytest.raises(ValueError):
            wrong()


def test_packages_that_cannot_be_written(digits, tmp_path):
    assert "cannot write" in str(failure(digits.save, tmp_path / "no/such/folder/x.collage"))


def test_a_program_outlives_wrong_calls(digits, images):
    for wrong in (None, "text", np.zeros(3), object()):
        with pytest.raises((TypeError, ValueError)):
            digits(wrong)
    assert digits(images[:1]).shape == (1, 10)
