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
    error = failure(digits.save, tmp_path / "no/such/folder/x.collage")
    assert "cannot write" in str(error) and isinstance(error, FileNotFoundError)


def test_classes_of_python(compiled, digits, tmp_path):
    model = "model @m(%x: f32[4]) -> (%y: f32[4]) {\n  %y = Relu(%x)\n}\n"
    for call in (lambda: compiled("no/such/model.ir"), lambda: compiled("no/such/model.onnx"), lambda: collage.load(tmp_path / "no"),
                 lambda: compiled(model, rules=["no/such.rules"]), lambda: compiled(model, placement="no/such.placement")):
        with pytest.raises(FileNotFoundError) as error:
            call()
        assert isinstance(error.value, collage.CollageError) and error.value.errno == 2, error.value
        again = pickle.loads(pickle.dumps(error.value))
        assert type(again) is type(error.value) and str(again) == str(error.value)
    for call in (lambda: collage.load(tmp_path), lambda: digits.save(tmp_path), lambda: compiled(model, placement=tmp_path)):
        with pytest.raises(IsADirectoryError) as error:
            call()
        assert isinstance(error.value, collage.CollageError) and error.value.errno == 21, error.value
    for keywords in ({"strategy": "fastest"}, {"objective": "beauty"}, {"cpu": "z80"}, {"target": ["nvidia"]},
                     {"shapes": {"batch": 2}}, {"constraints": {"place": "y=nvidia"}}):
        with pytest.raises(ValueError) as error:
            compiled(model, **keywords)
        assert isinstance(error.value, collage.DiagnosticError), keywords
    with pytest.raises(TypeError, match="no such setting"):
        compiled(model, stratgy="optimal")
    with pytest.raises(ValueError, match="no_such_node"):
        digits.explain("no_such_node")
    assert not isinstance(failure(compiled, model.replace("Relu", "Relux")), (OSError, ValueError, TypeError))


def test_messages_name_arguments(compiled, digits):
    from collage import _words

    for option, argument in (("--strategy=greedy", "strategy='greedy'"), ("-t npu", "target='npu'"), ("-t host -t xnnpack", "target=['host', 'xnnpack']"),
                             ("--strict", "strict=True"), ("--simulated", "simulated=True"), ("--cost-db FILE", "cost_db=FILE"),
                             ("--cache=", "cache=''"), ("--shape h=8,w=N", "shapes={'h': 8, 'w': N}"), ("--shape batch", "shapes['batch']"),
                             ("--buckets n=1,8", "buckets={'n': [1, 8]}"), ("--place", "constraints['place']"),
                             ("--forbid a=npu", "constraints={'forbid': 'a=npu'}"), ("--emit=graph", "collagec --emit=graph"),
                             ("-r", "rules"), ("model.ir: input 'x'", "model.ir: input 'x'")):
        assert _words.argument(option) == argument
    assert _words.in_python("`-t` or `collagec run m --input NAME=FILE`") == "`target` or `collagec run m --input NAME=FILE`"
    assert _words.rendered("--cpu: error: `--strict`\n  2 | `--strict`") == "cpu: error: `strict=True`\n  2 | `--strict`"
    model = "model @m(%x: f32[4]) -> (%y: f32[4]) {\n  %y = Relu(%x)\n}\n"
    for keywords in ({"strategy": "fastest"}, {"target": ["nvidia"]}, {"cpu": "z80"}, {"constraints": {"place": "y=nvidia"}}):
        error = failure(compiled, model, **keywords)
        (name,) = keywords
        assert error.file.startswith(name) and str(error).startswith(name), str(error)
    assert failure(digits.explain, "conv1", "no_such_backend").file == "explain"


def test_a_program_outlives_wrong_calls(digits, images):
    for wrong in (None, "text", np.zeros(3), object()):
        with pytest.raises((TypeError, ValueError)):
            digits(wrong)
    assert digits(images[:1]).shape == (1, 10)
