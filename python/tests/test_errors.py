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


def test_packages_that_cannot_be_written(digits, tmp_path):
    assert "cannot write" in str(failure(digits.save, tmp_path / "no/such/folder/x.collage"))


def test_a_program_outlives_wrong_calls(digits, images):
    for wrong in (None, "text", np.zeros(3), object()):
        with pytest.raises((TypeError, ValueError)):
            digits(wrong)
    assert digits(images[:1]).shape == (1, 10)
