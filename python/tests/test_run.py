# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs of runs."""
import gc
import tracemalloc

import numpy as np
import pytest

import collage

TWO = """model @two(%a: f32[2, 3], %b: f32[2, 3]) -> (%sum: f32[2, 3], %difference: f32[2, 3]) {
  %sum = Add(%a, %b)
  %difference = Sub(%a, %b)
}
"""


def doubling(dtype, shape="4"):
    return f"model @double(%x: {dtype}[{shape}]) -> (%y: {dtype}[{shape}]) {{\n  %y = Add(%x, %x)\n}}\n"


@pytest.fixture(scope="module")
def two(compiled):
    return compiled(TWO)


def test_classifies_digits(digits, images, labels):
    classes = [int(digits(images[i:i + 1]).argmax()) for i in range(len(images))]
    assert int((classes == labels).sum()) == 356


def test_ports(digits):
    (image,), (logits,) = digits.inputs, digits.outputs
    assert (image.name, image.dtype, image.shape, image.nbytes) == ("image", "f32", (1, 1, 8, 8), 256)
    assert (logits.name, logits.numpy_dtype) == ("logits", np.dtype("float32"))
    assert repr(digits) == "<collage.Program <image: f32[1, 1, 8, 8]> -> <logits: f32[1, 10]>>"
    assert digits.predicted_seconds > 0


def test_by_place_and_by_name(two):
    a, b = np.arange(6, dtype="float32").reshape(2, 3), np.ones((2, 3), "float32")
    for total, difference in (two(a, b), two(a, b=b), two(b=b, a=a)):
        np.testing.assert_array_equal(total, a + b)
        np.testing.assert_array_equal(difference, a - b)


@pytest.mark.parametrize("given, named, message", [
    (1, [], "input `b` is missing"),
    (0, ["a"], "input `b` is missing"),
    (3, [], "3 inputs are given, the program has 2"),
    (2, ["a"], "input `a` is given twice"),
    (1, ["b", "c"], "the program has no input `c`"),
])
def test_refuses_wrong_arguments(two, given, named, message):
    a = np.zeros((2, 3), "float32")
    with pytest.raises(TypeError) as error:
        two(*[a] * given, **{name: a for name in named})
    assert str(error.value) == message


def test_refuses_other_shapes_and_types(two):
    good = np.zeros((2, 3), "float32")
    with pytest.raises(ValueError, match=r"input `a`: need f32\[2, 3\], not the shape \[3, 2\]"):
        two(np.zeros((3, 2), "float32"), good)
    with pytest.raises(ValueError, match=r"not the shape \[6\]"):
        two(np.zeros(6, "float32"), good)
    with pytest.raises(TypeError, match=r"input `b`: need f32\[2, 3\], not elements of float64"):
        two(good, np.zeros((2, 3)))
    with pytest.raises(TypeError, match="not elements of >f4"):
        two(good, np.zeros((2, 3), ">f4"))


def test_any_layout(two):
    a = np.arange(6, dtype="float32").reshape(3, 2).T
    b = np.arange(24, dtype="float32").reshape(4, 6)[::2, ::-2]
    assert not a.flags.c_contiguous and not b.flags.c_contiguous
    total, difference = two(a, b)
    np.testing.assert_array_equal(total, a + b)
    np.testing.assert_array_equal(difference, a - b)


def test_lists_and_read_only_arrays(two):
    b = np.ones((2, 3), "float32")
    b.flags.writeable = False
    total, _ = two([[1, 2, 3], [4, 5, 6]], b)
    np.testing.assert_array_equal(total, [[2, 3, 4], [5, 6, 7]])


@pytest.mark.parametrize("dtype, value, error", [
    ("i64", [1.9, -0.5], TypeError),
    ("i64", [True, False], TypeError),
    ("i64", [1, None], TypeError),
    ("i64", ["1", "2"], TypeError),
    ("i8", [300, 2], ValueError),
    ("i8", [-129, 2], ValueError),
    ("u8", [-1, 2], ValueError),
    ("i64", [2 ** 63, 2 ** 63], ValueError),
    ("u64", [2 ** 64, 1], TypeError),
    ("u64", [2 ** 63, -1], ValueError),
    ("u64", [2 ** 63, 1.0], TypeError),
    ("i64", [2 ** 63, 1], ValueError),
    ("f32", [1, None], TypeError),
    ("f32", ["1", "2"], TypeError),
    ("f32", [True, False], TypeError),
    ("f32", [1j, 2], TypeError),
    ("f32", [1e300, 1], ValueError),
    ("f32", "12", TypeError),
    ("f32", None, TypeError),
    ("f32", np.ma.masked_array(np.ones(2, "float32"), [True, False]), TypeError),
    ("f32", memoryview(np.ones(2)), TypeError),
    ("f32", [1, 2, 3], ValueError),
    ("bf16", [1.5, 2], TypeError),
])
def test_lists_are_not_converted_silently(compiled, dtype, value, error):
    program = compiled(doubling(dtype, "2"))
    with pytest.raises(error, match="input `x`: "):
        program(value)


@pytest.mark.parametrize("dtype, value", [
    ("i8", [-64, 63]), ("u8", [0, 127]), ("i64", (2 ** 62 - 1, -2 ** 62)), ("u64", [2 ** 63 - 1, 2 ** 62]),
    ("f32", [1, -2.5]), ("f32", [float("inf"), 1]), ("f64", [1e300, 3]), ("f16", range(2))])
def test_lists_that_are_taken(compiled, dtype, value):
    program = compiled(doubling(dtype, "2"))
    assert program(value).tolist() == [2 * one for one in value]


def test_lists_of_small_numbers_and_large_ones(compiled):
    """NumPy makes floats of them, which would lose their last digits."""
    same = compiled("model @m(%x: u64[3]) -> (%y: u64[3]) {\n  %y = Max(%x, %x)\n}\n")
    value = [1, 2 ** 63 + 1, 2 ** 64 - 1]
    assert same(value).tolist() == value
    assert same([np.uint64(2 ** 63 + 1), 0, 7]).tolist() == [2 ** 63 + 1, 0, 7]


def test_lists_of_bools_and_scalars(compiled):
    negated = compiled("model @m(%x: bool[2]) -> (%y: bool[2]) {\n  %y = Not(%x)\n}\n")
    assert negated([True, False]).tolist() == [False, True]
    for wrong in ([1, 0], [0.0, 1.0]):
        with pytest.raises(TypeError, match="not elements of "):
            negated(wrong)
    with pytest.raises(TypeError, match="not elements of object"):
        compiled(doubling("f32", ""))(None)
    with pytest.raises(TypeError, match="give an array of the bits as uint16, of bfloat16, or a tensor with `__dlpack__`"):
        compiled(doubling("bf16"))([1, 2, 3, 4])


def test_inputs_of_any_name(compiled):
    program = compiled("model @m(%self: f32[2]) -> (%y: f32[2]) {\n  %y = Add(%self, %self)\n}\n")
    x = np.ones(2, "float32")
    assert program(self=x).tolist() == [2, 2]
    assert program.tensors(self=x)[0].numpy().tolist() == [2, 2]
    assert len(program.profile(self=x)) > 0


def test_results_are_made_by_programs_alone():
    from collage import _collage

    for made in (collage.Tensor, collage.Port, _collage.Program, _collage.Model, _collage.Placement):
        with pytest.raises(TypeError):
            made.__new__(made)
        with pytest.raises(TypeError):
            made()


def test_dense_arrays_are_not_copied(compiled):
    program = compiled(doubling("f32", "1024, 1024"))
    dense = np.ones((1024, 1024), "float32")

    def allocated(x):
        program(x)
        tracemalloc.start()
        program(x)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    assert allocated(dense) < dense.nbytes / 8
    assert allocated(np.asfortranarray(dense)) >= dense.nbytes


def test_results_own_their_memory(compiled):
    program = compiled(doubling("f32"))
    first = program(np.full(4, 1, "float32"))
    second = program(np.full(4, 2, "float32"))
    del program
    gc.collect()
    first += 1
    np.testing.assert_array_equal(first, np.full(4, 3))
    np.testing.assert_array_equal(second, np.full(4, 4))
    assert second.ctypes.data % 64 == 0 and second.flags.writeable


@pytest.mark.parametrize("dtype, numpy_dtype", [("f64", "float64"), ("i32", "int32"), ("i64", "int64"), ("u8", "uint8"),
                                                ("f16", "float16")])
def test_element_types(compiled, dtype, numpy_dtype):
    program = compiled(doubling(dtype))
    x = np.arange(4).astype(numpy_dtype)
    y = program(x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x + x)


def test_bools(compiled):
    program = compiled("model @m(%x: bool[3]) -> (%y: bool[3]) {\n  %y = Not(%x)\n}\n")
    y = program(np.array([True, False, True]))
    assert y.dtype == np.bool_ and y.tolist() == [False, True, False]


def test_bf16_as_bits(compiled):
    program = compiled(doubling("bf16"))
    x = np.array([0, 1, 2.5, -3], "float32")
    bits = (x.view("uint32") >> 16).astype("uint16")
    y = program(bits)
    assert y.dtype == np.uint16
    np.testing.assert_array_equal((y.astype("uint32") << 16).view("float32"), x + x)
    (tensor,) = program.tensors(bits)
    assert (tensor.dtype, tensor.shape, repr(tensor)) == ("bf16", (4,), "<collage.Tensor bf16[4]>")
    np.testing.assert_array_equal(tensor.numpy(), y)


def test_scalars_and_empty_tensors(compiled):
    program = compiled(doubling("f32", ""))
    y = program(np.float32(3))
    assert y.shape == () and float(y) == 6
    assert float(program(4)) == 8


def test_empty_is_aligned():
    array = collage.empty((3, 5), "float16")
    assert array.shape == (3, 5) and array.dtype == np.float16 and array.ctypes.data % 64 == 0
    array[:] = 1
    with pytest.raises(ValueError):
        collage.empty((-1,), "float32")
    with pytest.raises(TypeError):
        collage.empty((1,), object)


def test_element_types_have_the_right_size():
    from collage import _collage

    sizes = {name: dtype.itemsize for name, dtype in _collage.element_types().items()}
    assert len(sizes) == 23
    assert {sizes[name] for name in ("f32", "i32", "u32")} == {4} and {sizes[name] for name in ("f16", "bf16")} == {2}
    assert {sizes[name] for name in sizes if name.startswith("f8") or name in ("i4", "u4", "i2", "u2", "f4e2m1")} == {1}
