# SPDX-License-Identifier: Apache-2.0
"""Models and settings in all forms."""
import pathlib
import subprocess
import warnings

import numpy as np
import pytest

import collage

MODEL = """model @small(%x: f32[1, 8, 4, 4]) -> (%y: f32[1, 8, 4, 4]) {
  %w = const random seed 1 : f32[8, 8, 1, 1]
  %c = Conv(%x, %w)
  %y = Relu(%c)
}
"""
RULES = """rules 1
backend first {
  runtime host_jit
  rule conv {
    match c = Conv(x, w)
    cost 1 us
  }
}
"""
OPEN = "model @open(%x: f32[batch, 3]) -> (%y: f32[batch, 3]) {\n  %y = Relu(%x)\n}\n"


@pytest.fixture(scope="module")
def digits_onnx(build, digits_path, tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "digits.onnx"
    subprocess.run([build / "bin/collagec", digits_path, "--emit=onnx", "-o", path], check=True, stdout=subprocess.PIPE)
    return path


def test_onnx_files(compiled, digits, digits_onnx, images):
    expected = digits(images[:1])
    for model in (digits_onnx, str(digits_onnx), digits_onnx.read_bytes(), bytearray(digits_onnx.read_bytes())):
        np.testing.assert_allclose(compiled(model)(images[:1]), expected, rtol=1e-4, atol=1e-4)


def test_model_proto(compiled, digits, digits_onnx, images):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnx.helper")  # folders of test data may have the name
    np.testing.assert_allclose(compiled(onnx.load(str(digits_onnx)))(images[:1]), digits(images[:1]), rtol=1e-4, atol=1e-4)


def test_damaged_bytes(compiled, digits_onnx):
    with pytest.raises(collage.DiagnosticError) as error:
        compiled(digits_onnx.read_bytes()[:100])
    assert error.value.file == "<bytes>.onnx" and "is damaged near byte" in error.value.message


def test_torch_module(compiled):
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
            self.norm = torch.nn.BatchNorm2d(8)
            self.drop = torch.nn.Dropout(0.5)

        def forward(self, picture, scale):
            return self.drop(torch.relu(self.norm(self.conv(picture)))) * scale

    torch.manual_seed(1)
    net = Net()
    picture, scale = torch.randn(2, 3, 8, 8), torch.tensor([2.0])
    program = compiled(net, (picture, scale))
    assert [port.name for port in program.inputs] == ["picture", "scale"]
    assert [port.name for port in program.outputs] == ["output0"]
    with torch.no_grad():
        expected = net.eval()(picture, scale)
    np.testing.assert_allclose(program(picture, scale), expected.numpy(), rtol=1e-4, atol=1e-4)
    with pytest.raises(TypeError, match="needs example inputs"):
        compiled(net)
    with pytest.raises(TypeError, match="traced or scripted by torch.jit"):
        compiled(torch.jit.trace(net, (picture, scale)), (picture, scale))

    class Two(torch.nn.Module):
        def forward(self, x):
            return x + 1, (x * 2, x - 1)

    assert [port.name for port in compiled(Two(), (scale,)).outputs] == ["output0", "output1", "output2"]


def test_refuses_what_is_no_model(compiled):
    with pytest.raises(TypeError, match="no model: int"):
        compiled(3)
    with pytest.raises(TypeError, match="example inputs are for modules"):
        compiled(MODEL, (np.zeros(1),))
    with pytest.raises(collage.DiagnosticError, match="no/such.onnx"):
        compiled("no/such.onnx")


def backends_of(program):
    return dict(zip(program.placement.column("node"), program.placement.column("backend")))


def test_rules_as_strings(compiled, tmp_path):
    assert backends_of(compiled(MODEL, rules=[RULES])) == {"c": "first", "y": "host"}
    assert backends_of(compiled(MODEL, rules=RULES)) == {"c": "first", "y": "host"}
    assert backends_of(compiled(MODEL, rules=[])) == {"c": "host", "y": "host"}
    # Beside files and folders of them.
    other = RULES.replace("first", "second").replace("1 us", "1 ns")
    (tmp_path / "other.rules").write_text(other)
    for where in (tmp_path, str(tmp_path / "other.rules")):
        assert backends_of(compiled(MODEL, rules=[RULES, where]))["c"] == "second"


def test_constraints(compiled):
    text = RULES.replace("backend first", "backend npu")
    assert backends_of(compiled(MODEL, rules=[text], constraints={"forbid": {"op:Conv": "npu"}}))["c"] == "host"
    assert backends_of(compiled(MODEL, rules=[text], constraints={"place": ["c=host"]}))["c"] == "host"
    assert backends_of(compiled(MODEL, rules=[text], constraints={"place": "c=npu"}))["c"] == "npu"
    together = compiled(MODEL, rules=[text], constraints={"together": ["c", "y"]})
    assert len(together.placement.partitions) == 1
    with pytest.raises(ValueError, match="no such constraint: 'plase'"):
        compiled(MODEL, constraints={"plase": "c=npu"})


def test_settings_of_constraints():
    from collage import _settings

    assert _settings.of_constraints({"place": {"a": ["x", "y"]}, "memory": {"npu[0]": "4MiB"}}) == [
        ("place", "a=x"), ("place", "a=y"), ("memory", "npu[0]=4MiB")]
    assert _settings.of_constraints({"together": [["a", "b"], ["c", "d"]]}) == [("together", "a,b"), ("together", "c,d")]
    assert _settings.of_constraints({"together": ["a,b", "c,d"]}) == [("together", "a,b"), ("together", "c,d")]
    assert _settings.of_keywords({"cost_db": "", "strict": True, "budget": 0.5, "target": ["a", "b"], "cpu": None}) == [
        ("cost-db", ""), ("strict", "true"), ("budget", "0.5"), ("target", "a"), ("target", "b")]


def test_shapes(compiled):
    for shapes in ({"batch": 5}, {"x": (5, 3)}, {"x": "5x3"}):
        program = compiled(OPEN, shapes=shapes)
        assert program.inputs[0].shape == (5, 3)
        np.testing.assert_array_equal(program(np.full((5, 3), -1, "float32")), np.zeros((5, 3)))


def test_an_open_batch_is_warned_of(compiled):
    with pytest.warns(collage.ShapeWarning, match="`batch` of the model is open and taken as 1: shapes={'batch': N}") as warned:
        program = compiled(OPEN)
    assert warned[0].filename.endswith("conftest.py")  # where `compile` was called
    assert program(np.zeros((1, 3), "float32")).shape == (1, 3)
    for run in (program, program.tensors):
        with pytest.raises(ValueError, match=r"not the shape \[2, 3\]; `batch` was taken as 1: compile with shapes={'batch': 2}"):
            run(np.zeros((2, 3), "float32"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fixed = compiled(OPEN, shapes={"batch": 1})
    with pytest.raises(ValueError) as error:
        fixed(np.zeros((2, 3), "float32"))
    assert "shapes=" not in str(error.value)


def test_placements_are_followed(compiled, tmp_path):
    host = compiled(MODEL, rules=[RULES], strategy="single:host").placement
    text = host.text
    assert text.startswith("placement 1\n")
    (tmp_path / "host.placement").write_text(text)
    for given in (text, tmp_path / "host.placement"):
        followed = compiled(MODEL, rules=[RULES], placement=given).placement
        assert followed.column("backend") == ["host", "host"] and followed.value == host.value


def test_objectives(compiled):
    placement = compiled(MODEL, objective="makespan").placement
    assert placement.document["objective"]["name"] == "makespan" and placement.value > 0
    with pytest.raises(collage.DiagnosticError, match="beauty"):
        compiled(MODEL, objective="beauty")


def test_unknown_settings(compiled):
    with pytest.raises(collage.DiagnosticError, match="did you mean `strategy`"):
        compiled(MODEL, stratgy="optimal")


def test_files_beside_a_text(compiled, digits, digits_path, images, monkeypatch):
    """What a text leads to is looked for in the current folder."""
    monkeypatch.chdir(pathlib.Path(digits_path).parent)
    np.testing.assert_array_equal(compiled(pathlib.Path(digits_path).read_text())(images[:1]), digits(images[:1]))
