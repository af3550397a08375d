# SPDX-License-Identifier: Apache-2.0
"""Tensors of other libraries."""
import ctypes
import gc

import numpy as np
import pytest

MODEL = "model @m(%x: f32[2, 3]) -> (%y: f32[2, 3]) {\n  %y = Add(%x, %x)\n}\n"


class OnlyDLPack:
    """A tensor of a library that is not NumPy."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.fixture(scope="module")
def program(compiled):
    return compiled(MODEL)


def test_in(program):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(program(OnlyDLPack(x)), 2 * x)


def test_in_with_strides(program):
    x = np.arange(24, dtype="float32").reshape(6, 4).T[::2, 3:0:-1]
    assert x.shape == (2, 3)
    np.testing.assert_array_equal(program(OnlyDLPack(x)), 2 * x)


def test_in_is_checked(program):
    with pytest.raises(ValueError, match=r"need f32\[2, 3\], not the shape \[3, 2\]"):
        program(OnlyDLPack(np.zeros((3, 2), "float32")))
    with pytest.raises(TypeError, match="not elements of DLPack's type 0 with 32 bits"):
        program(OnlyDLPack(np.zeros((2, 3), "int32")))


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]


class WithoutMemory:
    """A tensor of float32 whose data is NULL."""

    NAME = b"dltensor"

    def __init__(self, *shape):
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.tensor = DLTensor(None, 1, 0, len(shape), 2, 32, 1, self.shape, None, 0)

    def __dlpack__(self, stream=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), self.NAME, None)


def test_no_elements(compiled, program):
    empty = compiled(MODEL.replace("2, 3", "0, 3"))
    for x in (WithoutMemory(0, 3), np.zeros((0, 3), "float32"), OnlyDLPack(np.zeros((0, 3), "float32"))):
        assert empty(x).shape == (0, 3)
    with pytest.raises(ValueError, match="input `x`: the tensor has no memory"):
        program(WithoutMemory(2, 3))


def test_no_capsule(program):
    class Wrong:
        def __dlpack__(self, stream=None):
            return 3

    with pytest.raises(TypeError, match="gives no capsule"):
        program(Wrong())


def test_out(program):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    (tensor,) = program.tensors(x)
    assert tensor.__dlpack_device__() == (1, 0)
    y = np.from_dlpack(tensor)
    tensor.numpy()[0, 0] = 100  # the same memory
    assert y[0, 0] == 100
    del tensor
    gc.collect()
    np.testing.assert_array_equal(y[1], 2 * x[1])
    (again,) = program.tensors(x)
    np.testing.assert_array_equal(np.asarray(again), 2 * x)
    np.testing.assert_array_equal(np.asarray(again, dtype="float64"), 2 * x)


def test_unused_capsules_free_their_memory(program):
    (tensor,) = program.tensors(np.zeros((2, 3), "float32"))
    for _ in range(1000):
        tensor.__dlpack__()


def test_results_go_in_again(program):
    x = np.ones((2, 3), "float32")
    (tensor,) = program.tensors(x)
    np.testing.assert_array_equal(program(tensor), 4 * x)


def test_torch(program, compiled):
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32).reshape(3, 2).T
    y = torch.from_dlpack(program.tensors(x)[0])
    assert torch.equal(y, 2 * x)
    doubled = compiled(MODEL.replace("f32", "bf16"))
    x = torch.tensor([[0, 1, 2.5], [-3, 4, 0.5]], dtype=torch.bfloat16)
    y = torch.from_dlpack(doubled.tensors(x)[0])
    assert y.dtype == torch.bfloat16 and torch.equal(y, x + x)
