# SPDX-License-Identifier: Apache-2.0
"""Open shapes: programs that are specialised while they run, and packages of several shapes."""
import os
import subprocess
import threading

import numpy
import pytest

from conftest import QUIET

ROWS = """model @rows(%x: f32[batch, 3]) -> (%y: f32[batch, 2]) {
  %w = const dense f32[3, 2] [1, 0, 0, 1, 1, 1]
  %m = MatMul(%x, %w)
  %y = Relu(%m)
}
"""
COLUMNS = """model @columns(%x: f32[2, seq]) -> (%y: f32[2, seq]) {
  %y = Softmax(%x)
}
"""
WEIGHTS = numpy.array([[1, 0], [0, 1], [1, 1]], "float32")


def rows(batch):
    return numpy.arange(-4, 3 * batch - 4, dtype="float32").reshape(batch, 3)


def expect_right(program, batch):
    x = rows(batch)
    y = program(x)
    assert y.shape == (batch, 2) and y.dtype == numpy.float32
    assert (y == numpy.maximum(x @ WEIGHTS, 0)).all()


@pytest.fixture
def dynamic():
    import collage

    return lambda model, **keywords: collage.dynamic(model, **{**QUIET, **keywords})


@pytest.fixture
def package_of(build, tmp_path):
    def made(buckets):
        (tmp_path / "rows.ir").write_text(ROWS)
        path = tmp_path / "rows.collage"
        subprocess.run([build / "bin/collagec", "rows.ir", "--costs=estimate", "--cache=", "--buckets", buckets, "-o", path],
                       cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
        return path

    return made


@pytest.fixture
def package(package_of):
    return package_of("batch=2,6")


def test_each_shape_is_compiled_once(dynamic):
    program = dynamic(ROWS, keep=2)
    assert program.inputs == ["x"] and program.made == 0
    for batch in (1, 4, 1, 4):
        expect_right(program, batch)
    assert program.made == 2 and program.outputs == ["y"]
    expect_right(program, 7)  # 1 is dropped
    expect_right(program, 1)
    assert program.made == 4


def test_sizes_between_buckets_compile_nothing(dynamic):
    program = dynamic(ROWS, buckets={"batch": [4, 8]})
    for batch in (3, 1, 4, 2, 5, 8):
        expect_right(program, batch)
    assert program.made == 2
    assert not [one for one in program.warnings if one.code == "CG0435"]


def test_what_is_not_proved_is_compiled_for_itself(dynamic):
    program = dynamic(COLUMNS, buckets={"seq": [4]})
    for seq in (2, 3, 4, 2):
        assert numpy.allclose(program(numpy.ones((2, seq), "float32")), 1 / seq)
    assert program.made == 3
    found = [one for one in program.warnings if one.code == "CG0435"]
    assert [one.message for one in found] == ["seq is not padded: node `y` (Softmax) normalises over it"]


def test_wrong_inputs(dynamic):
    import collage

    program = dynamic(ROWS)
    with pytest.raises(collage.DiagnosticError):
        program(numpy.zeros((2, 4), "float32"))
    with pytest.raises(collage.DiagnosticError):
        program(numpy.zeros((2, 3), "int64"))
    with pytest.raises(TypeError, match="numbers have no element type"):
        program([[1.0, 2.0, 3.0]])
    with pytest.raises(TypeError, match="input `x` is missing"):
        program()
    with pytest.raises(TypeError, match="no input `z`"):
        program(x=rows(1), z=rows(1))
    expect_right(program, 2)  # the errors of other runs are gone


def test_wrong_arguments(dynamic):
    import collage

    with pytest.raises(TypeError, match="buckets: want a dict"):
        dynamic(ROWS, buckets=[1, 2])
    with pytest.raises(TypeError, match="want a list of sizes"):
        dynamic(ROWS, buckets={"batch": "1,2"})
    with pytest.raises(ValueError, match="the list is empty"):
        dynamic(ROWS, buckets={"batch": []})
    with pytest.raises(ValueError, match="keep"):
        dynamic(ROWS, keep=0)
    with pytest.raises(collage.DiagnosticError, match="buckets: error: `2` is given twice"):
        dynamic(ROWS, buckets={"batch": [2, 2]})
    with pytest.raises(collage.DiagnosticError, match="(?s)`bacth` is no open dimension.*did you mean `batch`"):
        dynamic(ROWS, buckets={"bacth": [2]})


def test_other_forms_of_inputs_and_results(dynamic):
    program = dynamic(ROWS)
    assert (program(x=rows(4)[::2]) == numpy.maximum(rows(4)[::2] @ WEIGHTS, 0)).all()
    tensor, = program.tensors(rows(3))
    assert tensor.shape == (3, 2) and tensor.dtype == "f32"


def test_stages(dynamic):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnx.helper")  # folders of test data may have the name
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("NonZero", ["a"], ["y"])], "m",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [1, None])])
    program = dynamic(onnx.helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert program(numpy.array([0, -1, 2], "float32")).tolist() == [[1, 2]]
    assert program(numpy.array([1, 0], "float32")).tolist() == [[0]]


def test_threads_wait_for_each_other(dynamic):
    program = dynamic(ROWS, keep=2)
    failures = []

    def run(batch):
        try:
            for _ in range(5):
                expect_right(program, batch)
        except BaseException as failure:  # noqa: B902
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(batch,)) for batch in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_package_of_several_shapes(package, tmp_path):
    import collage

    program = collage.load(package)
    assert program.shapes == ["batch=2", "batch=6"]
    for batch in (2, 1, 5, 6, 3):
        expect_right(program, batch)
    assert program([[1, 2, 3]]).tolist() == [[4, 5]]
    with pytest.raises(collage.CollageError, match=r"not compiled for x \[7, 3\], but for batch=2; batch=6"):
        program(rows(7))
    again = tmp_path / "again.collage"
    program.save(again)
    assert collage.load(again).shapes == program.shapes


def test_package_of_one_bucket_pads(package_of):
    import collage

    program = collage.load(package_of("batch=6"))
    assert program.shapes == ["batch=6"]
    for batch in (6, 1, 5):
        expect_right(program, batch)
    with pytest.raises(collage.CollageError, match=r"not compiled for x \[7, 3\], but for batch=6"):
        program(rows(7))


def test_package_of_one_shape_has_no_names(digits):
    assert digits.shapes == []


def test_names_of_files_need_not_be_utf8(tmp_path, compiled):
    import collage

    folder = os.path.join(os.fsencode(tmp_path), b"\xff\xfe")
    os.mkdir(folder)
    model, package = os.path.join(folder, b"m\xe9.ir"), os.path.join(folder, b"m\xe9.collage")
    with open(model, "w") as file:
        file.write(ROWS)
    program = compiled(os.fsdecode(model), shapes={"batch": 2})
    program.save(os.fsdecode(package))
    expect_right(collage.load(os.fsdecode(package)), 2)
    with pytest.raises(collage.CollageError):
        collage.load(os.fsdecode(package) + "x")


def test_a_profile_is_of_the_specialisation_of_the_inputs(build, tmp_path):
    """A row that the first specialisation does not have tells which of them was profiled."""
    import collage

    (tmp_path / "row.ir").write_text("model @row(%x: f32[batch, 3], %i: i64[1]) -> (%y: f32[1, 3]) {\n  %y = Gather(%x, %i)\n}\n")
    subprocess.run([build / "bin/collagec", "row.ir", "--costs=estimate", "--cache=", "--buckets", "batch=2,6", "-o", "row.collage"],
                   cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    program = collage.load(tmp_path / "row.collage")
    row = numpy.array([5])
    assert program.profile(numpy.ones((6, 3), "float32"), row).column("kind")
    assert program.profile(x=numpy.ones((6, 3), "float32"), i=row).column("kind")
    with pytest.raises(collage.CollageError, match="index 5 is out of range"):
        program.profile(numpy.ones((2, 3), "float32"), row)
    with pytest.raises(collage.CollageError, match=r"was not compiled for x \[7, 3\]"):
        program.profile(numpy.ones((7, 3), "float32"), row)
