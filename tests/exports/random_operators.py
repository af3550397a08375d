# SPDX-License-Identifier: Apache-2.0
"""Makers of random ONNX nodes, for random_graphs.py: `MAKERS` holds one function for each group of operators.

A maker takes the graph so far (`random_graphs.Graph`), picks operands among its values, or makes new inputs and constants, and
returns a `Draft`. It need not be sure that ONNX permits the node: one that ONNX Runtime refuses is dropped. Operands that decide
shapes are constants, so that shapes are known before a run, except in makers marked `run_time`."""
from dataclasses import dataclass, field

import numpy as np

FLOATS = ["float32", "float32", "float32", "float32", "float32", "float64", "float16"]
INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
NUMBERS = FLOATS + INTS
ALL = NUMBERS + ["bool"]
ONNX_TYPE = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
             "float64": 11, "uint32": 12, "uint64": 13}
MAKERS = []


@dataclass
class Draft:
    op: str
    inputs: list
    attributes: dict = field(default_factory=dict)
    outputs: int = 1
    captures: list = field(default_factory=list)  # values that bodies read


def maker(weight=1.0, run_time=False, since=0):
    def add(function):
        function.weight, function.run_time, function.since = weight, run_time, since
        MAKERS.append(function)
        return function
    return add


# --- element by element ---

UNARY = {"Abs": NUMBERS, "Neg": FLOATS + ["int8", "int16", "int32", "int64"], "Sign": NUMBERS, "Relu": FLOATS + ["int8", "int32"],
         "Not": ["bool"], "Identity": ALL}
for _op in ("Floor Ceil Round Sqrt Exp Log Reciprocal Erf Sigmoid Tanh Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh "
            "Softplus Softsign HardSwish IsNaN").split():
    UNARY[_op] = FLOATS
OFTEN = ["Relu", "Floor", "Ceil", "Round", "Sign", "Abs", "Neg"]


@maker(6)
def unary(g):
    op = g.some(OFTEN if g.chance(.3) else sorted(UNARY))
    return Draft(op, [g.value(UNARY[op])])


@maker(2)
def unary_with_attributes(g):
    op = g.some(["Elu", "Selu", "Celu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Shrink", "IsInf"])
    names = {"Elu": ["alpha"], "Selu": ["alpha", "gamma"], "Celu": ["alpha"], "LeakyRelu": ["alpha"], "IsInf": [],
             "ThresholdedRelu": ["alpha"], "HardSigmoid": ["alpha", "beta"], "Shrink": ["lambd", "bias"]}[op]
    attributes = {name: float(g.some([.01, .2, .5, 1., 1.5])) for name in names if g.chance(.6)}
    if op == "IsInf":
        attributes = {name: int(g.chance(.5)) for name in ("detect_negative", "detect_positive") if g.chance(.5)}
    return Draft(op, [g.value(FLOATS + (INTS if op == "Shrink" else []))], attributes)


@maker(.6, since=18)
def newer_unary(g):
    op = g.some(["Mish", "BitwiseNot"] + (["Gelu"] if g.opset >= 20 else []))
    attributes = {"approximate": g.some(["none", "tanh"])} if op == "Gelu" and g.chance(.7) else {}
    return Draft(op, [g.value(INTS if op == "BitwiseNot" else FLOATS)], attributes)


@maker(6)
def arithmetic(g):
    op = g.some(["Add", "Sub", "Mul", "Div"])
    a = g.value(NUMBERS)
    if op == "Div" and a.dtype.kind != "f":
        return Draft(op, [a, g.divisor(a)])
    pair = [a, g.like(a)]
    return Draft(op, pair[::-1] if g.chance(.5) and op != "Div" else pair)


@maker(2)
def several(g):
    op = g.some(["Max", "Min", "Max", "Min", "Sum", "Mean"])
    a = g.value(NUMBERS if op in ("Max", "Min") else FLOATS)
    return Draft(op, [a] + [g.like(a) for _ in range(g.within(0 if op in ("Sum", "Mean") else 1, 3))])


@maker(2)
def remainder(g):
    a = g.value(NUMBERS)
    return Draft("Mod", [a, g.divisor(a)], {"fmod": 1} if a.dtype.kind == "f" or g.chance(.5) else {})


@maker(1.5)
def power(g):
    a = g.value(FLOATS + ["int32", "int64"])
    if g.chance(.6):
        exponent = np.array(g.some([0, 1, 2, 3, .5, -1]), g.some(["float32", "float64", "int32", "int64", str(a.dtype)]))
        return Draft("Pow", [a, g.const(exponent)])
    return Draft("Pow", [a, g.like(a)])


@maker(3)
def comparison(g):
    op = g.some(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"])
    a = g.value(ALL if op == "Equal" else NUMBERS)
    return Draft(op, [a, g.like(a)])


@maker(1)
def logic(g):
    a = g.value(["bool"])
    return Draft(g.some(["And", "Or", "Xor"]), [a, g.like(a)])


@maker(1)
def bits(g):
    ops = ["BitShift"] + (["BitwiseAnd", "BitwiseOr", "BitwiseXor"] if g.opset >= 18 else [])
    op = g.some(ops)
    a = g.value(["uint8", "uint16", "uint32", "uint64"] if op == "BitShift" else INTS)
    if op == "BitShift":
        amount = g.const(g.random.randint(0, a.dtype.itemsize * 8, g.loosen(a.shape)).astype(a.dtype))
        return Draft(op, [a, amount], {"direction": g.some(["LEFT", "RIGHT"])})
    return Draft(op, [a, g.like(a)])


@maker(3)
def where(g):
    a = g.value(ALL)
    condition = g.fit("bool", g.loosen(a.shape))
    return Draft("Where", [condition, a, g.like(a)])


@maker(2)
def clip(g):
    a = g.value(NUMBERS)
    low, high = sorted([g.within(-3, 3), g.within(-3, 6)])
    if a.dtype.kind == "u":
        low, high = abs(low), abs(low) + high + 3
    bounds = [g.const(np.array(low, a.dtype)) if g.chance(.7) else "", g.const(np.array(high, a.dtype)) if g.chance(.7) else ""]
    return Draft("Clip", [a] + bounds)


@maker(5)
def cast(g):
    a = g.value(ALL)
    if g.chance(.2):
        return Draft("CastLike", [a, g.value(ALL)])
    return Draft("Cast", [a], {"to": ONNX_TYPE[g.some(ALL)]})


@maker(.7)
def prelu(g):
    a = g.value(FLOATS + ["int32", "int64"], 1, 5)
    return Draft("PRelu", [a, g.fit(a.dtype, g.loosen(a.shape))])


# --- along axes ---

@maker(5)
def reduce(g):
    op = "Reduce" + g.some(["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"])
    a = g.value(FLOATS + (["int32", "int64", "int8", "uint8"] + (["bool"] if g.opset >= 20 and op in ("ReduceMax", "ReduceMin")
                                                                else [])))
    attributes = {"keepdims": g.within(0, 1)} if g.chance(.7) else {}
    axes = g.axes(a.ndim, some=g.chance(.8))
    operand = []
    if op == "ReduceSum" or g.opset >= 18:
        if g.chance(.3):
            attributes["noop_with_empty_axes"] = g.within(0, 1)
        if axes or g.chance(.3):
            operand = [g.const(np.array(axes, np.int64))]
    elif axes:
        attributes["axes"] = axes
    return Draft(op, [a] + operand, attributes)


@maker(1.5)
def extreme(g):
    a = g.value(FLOATS + ["int8", "uint8", "int32", "int64"], 1, 5)
    attributes = {}
    if g.chance(.8):
        attributes["axis"] = g.axis(a.ndim)
    for name in ("keepdims", "select_last_index"):
        if g.chance(.5):
            attributes[name] = g.within(0, 1)
    return Draft(g.some(["ArgMax", "ArgMin"]), [a], attributes)


@maker(1.2)
def top(g):
    a = g.value(FLOATS + ["int8", "uint8", "int32", "int64"], 1, 5)
    axis = g.axis(a.ndim)
    k = g.within(0 if g.chance(.1) else 1, max(1, a.shape[axis]))
    attributes = {"axis": axis, "largest": g.within(0, 1), "sorted": 1}
    return Draft("TopK", [a, g.const(np.array([k], np.int64))], attributes, 2)


@maker(1)
def cumulative(g):
    a = g.value(FLOATS + ["int32", "int64", "uint32", "uint64"], 1, 5)
    attributes = {name: g.within(0, 1) for name in ("exclusive", "reverse") if g.chance(.6)}
    axis = g.const(np.array(g.axis(a.ndim), g.some([np.int32, np.int64])))
    return Draft("CumSum", [a, axis], attributes)


@maker(2)
def softmax(g):
    a = g.value(FLOATS, 1, 5)
    return Draft(g.some(["Softmax", "LogSoftmax", "Hardmax"]), [a], {"axis": g.axis(a.ndim)} if g.chance(.8) else {})


@maker(2)
def normalisation(g):
    op = g.some(["LayerNormalization", "InstanceNormalization", "BatchNormalization", "LpNormalization", "LRN",
                 "MeanVarianceNormalization"] + (["GroupNormalization"] if g.opset >= 21 else []) +
                (["RMSNormalization"] if g.opset >= 23 else []))
    a = g.value(FLOATS, 3 if op in ("LRN", "InstanceNormalization", "GroupNormalization") else 1 if op[0] == "L" else 2, 5)
    if op == "MeanVarianceNormalization":
        return Draft(op, [a], {"axes": g.axes(a.ndim)})
    if op == "LpNormalization":
        return Draft(op, [a], {"axis": g.axis(a.ndim), "p": g.within(1, 2)})
    if op == "LRN":
        return Draft(op, [a], {"size": g.within(1, 4), "alpha": .1, "beta": .6, "bias": 1.5})
    epsilon = {"epsilon": float(g.some([1e-5, 1e-3, .1]))} if g.chance(.6) else {}
    if op in ("LayerNormalization", "RMSNormalization"):
        axis = g.axis(a.ndim)
        dims = a.shape[axis:] if axis < 0 else a.shape[axis:]
        operands = [g.fit(a.dtype, dims)] + ([g.fit(a.dtype, dims)] if op[0] == "L" and g.chance(.6) else [])
        return Draft(op, [a] + operands, {"axis": axis, **epsilon}, g.within(1, 3) if op[0] == "L" else 1)
    channels = (a.shape[1],)
    operands = [a, g.fit(a.dtype, channels), g.fit(a.dtype, channels)]
    if op == "GroupNormalization":
        groups = g.some([n for n in range(1, a.shape[1] + 1) if a.shape[1] % n == 0] or [1])
        return Draft(op, operands, {"num_groups": groups, **epsilon})
    if op == "BatchNormalization":
        variance = g.const(g.random.uniform(.2, 2, channels).astype(a.dtype))
        operands += [g.fit(a.dtype, channels), variance]
    return Draft(op, operands, epsilon)


# --- moving elements ---

@maker(2)
def transpose(g):
    a = g.value(ALL)
    return Draft("Transpose", [a], {"perm": [int(i) for i in g.random.permutation(a.ndim)]} if g.chance(.8) else {})


@maker(2)
def reshape(g):
    a = g.value(ALL)
    dims, rest = [], a.size
    while rest > 1 and len(dims) < 4:
        divisors = [n for n in range(1, rest + 1) if rest % n == 0]
        dims.append(int(g.some(divisors)))
        rest //= dims[-1]
    dims.append(rest)
    if a.size > 0 and g.chance(.5):
        dims[g.within(0, len(dims) - 1)] = -1
    if g.chance(.2):
        dims = [0] + [-1]
    return Draft("Reshape", [a, g.const(np.array(dims, np.int64))])


@maker(2)
def other_shape(g):
    op = g.some(["Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile"])
    a = g.value(ALL)
    if op == "Flatten":
        return Draft(op, [a], {"axis": g.within(-a.ndim, a.ndim)})
    if op == "Squeeze":
        ones = [i for i, n in enumerate(a.shape) if n == 1 and g.chance(.7)]
        return Draft(op, [a] + ([g.const(np.array(ones, np.int64))] if ones or g.chance(.3) else []))
    if op == "Unsqueeze":
        return Draft(op, [a, g.const(np.array(g.some([[0], [-1], [a.ndim], [0, 2], [1, -1]]), np.int64))])
    if op == "Tile":
        return Draft(op, [a, g.const(g.random.randint(0 if g.chance(.1) else 1, 4, a.ndim).astype(np.int64))])
    dims = [n if n != 1 else g.within(1, 3) for n in a.shape]
    dims = [g.within(1, 3)] * g.within(0, 1) + [1 if g.chance(.2) else n for n in dims]
    return Draft(op, [a, g.const(np.array(dims, np.int64))])


@maker(3)
def slice_of(g):
    a = g.value(ALL, 1, 5)
    axes = g.axes(a.ndim)
    starts, ends, steps = [], [], []
    for axis in axes:
        size, step = a.shape[axis], g.some([1, 1, 1, 2, 3, -1, -1, -2])
        far = g.some([2**31 - 1, 2**63 - 1, size + 3, size])
        start, end = g.within(-size - 2, size + 2), far if step > 0 else -far
        if g.chance(.5):
            end = g.within(-size - 2, size + 2)
        starts.append(start if g.chance(.6) else (0 if step > 0 else far))
        ends.append(end)
        steps.append(step)
    kind = g.some([np.int64, np.int64, np.int32])
    if kind == np.int32:
        starts, ends = (np.clip(x, -2**31, 2**31 - 1) for x in (starts, ends))
    rest = [g.const(np.array(x, kind)) for x in (starts, ends, axes, steps)]
    return Draft("Slice", [a] + rest)


@maker(2)
def pad(g):
    a = g.value(NUMBERS + ["bool"], 1, 5)
    mode = g.some(["constant", "reflect", "edge"] + (["wrap"] if g.opset >= 19 else []))
    low, high = (-1, 3) if mode != "reflect" else (-1, max(0, min(a.shape) - 1))
    axes = g.axes(a.ndim) if g.opset >= 18 and g.chance(.4) else list(range(a.ndim))
    pads = [g.within(low, max(low, high)) for _ in range(2 * len(axes))]
    operands = [a, g.const(np.array(pads, np.int64))]
    if mode == "constant" and g.chance(.5):
        operands.append(g.const(np.array(3, a.dtype)))
    if g.opset >= 18 and len(axes) < a.ndim:
        operands += [""] * (3 - len(operands)) + [g.const(np.array(axes, np.int64))]
    return Draft("Pad", operands, {"mode": mode} if mode != "constant" or g.chance(.3) else {})


@maker(2)
def concat(g):
    a = g.value(ALL, 1, 5)
    axis = g.axis(a.ndim)
    others = []
    for _ in range(g.within(0, 2)):
        dims = list(a.shape)
        dims[axis] = g.within(1, 4)
        others.append(g.fit(a.dtype, dims))
    return Draft("Concat", [a] + others, {"axis": axis})


@maker(1)
def split(g):
    a = g.value(ALL, 1, 5)
    axis = g.axis(a.ndim)
    size = a.shape[axis]
    if g.opset >= 18 and g.chance(.5):
        parts = g.within(1, 3)
        return Draft("Split", [a], {"axis": axis, "num_outputs": parts}, parts)
    first = g.within(0, size)
    return Draft("Split", [a, g.const(np.array([first, size - first], np.int64))], {"axis": axis}, 2)


@maker(1)
def blocks(g):
    op = g.some(["DepthToSpace", "SpaceToDepth"])
    n = 2
    dims = [g.within(1, 2), 4 * g.within(1, 2), 2 * g.within(1, 3), 2 * g.within(1, 3)]
    a = g.fit(g.some(["float32", "float32", "float64", "int8", "uint8", "int32"]), dims)
    return Draft(op, [a], {"blocksize": n, **({"mode": g.some(["DCR", "CRD"])} if op[0] == "D" else {})})


@maker(3)
def gather(g):
    a = g.value(ALL, 1, 4)
    op = g.some(["Gather", "GatherElements", "GatherND"])
    kind = g.some([np.int64, np.int64, np.int32])
    if op == "GatherND":
        batch = g.within(0, a.ndim - 1)
        depth = g.within(1, a.ndim - batch)
        dims = list(a.shape[:batch]) + [g.within(1, 3) for _ in range(g.within(0, 2))]
        index = np.stack([g.indices(a.shape[batch + i], dims) for i in range(depth)], -1).astype(np.int64)
        return Draft(op, [a, g.index(index)], {"batch_dims": batch} if batch else {})
    axis = g.axis(a.ndim)
    if op == "Gather":
        dims = [g.within(1, 3) for _ in range(g.within(0, 2))]
    else:
        dims = [g.within(1, n) if n and i != axis % a.ndim else g.within(1, 4) for i, n in enumerate(a.shape)]
    return Draft(op, [a, g.index(g.indices(a.shape[axis], dims).astype(kind))], {"axis": axis})


@maker(2.5)
def scatter(g):
    op = g.some(["ScatterElements", "ScatterND"])
    modes = ["none", "add", "mul"] + (["max", "min"] if g.opset >= 18 else [])
    mode = g.some(modes) if g.opset >= 16 else "none"
    a = g.value(ALL if mode == "none" else NUMBERS, 1, 4)
    attributes = {"reduction": mode} if mode != "none" else {}
    if op == "ScatterElements":
        axis = g.axis(a.ndim)
        dims = [g.within(1, n) if n else 0 for n in a.shape]
        index = g.indices(a.shape[axis], dims, unique_axis=axis % a.ndim if mode == "none" else None)
        return Draft(op, [a, g.index(index.astype(g.some([np.int64, np.int32]))), g.fit(a.dtype, dims)],
                     {"axis": axis, **attributes})
    depth, count = g.within(1, a.ndim), g.within(1, 4)
    index = np.stack([g.indices(a.shape[i], [count]) for i in range(depth)], -1).astype(np.int64)
    if mode == "none":
        wrapped = index % np.array(a.shape[:depth])
        index = index[sorted(np.unique(wrapped, axis=0, return_index=True)[1])]
    return Draft(op, [a, g.index(index), g.fit(a.dtype, [len(index)] + list(a.shape[depth:]))], attributes)


@maker(1)
def triangle(g):
    a = g.value(ALL, 2, 5)
    k = [g.const(np.array(g.within(-4, 4), np.int64))] if g.chance(.7) else []
    return Draft("Trilu", [a] + k, {"upper": g.within(0, 1)} if g.chance(.7) else {})


@maker(1)
def one_hot(g):
    indices = g.value(["int64", "int32", "float32", "uint8"], 0, 3, most=200)
    depth = g.const(np.array(g.within(1, 6), g.some(["int64", "int32", "float32"])))
    values = g.const(np.array([g.within(-2, 0), g.within(1, 3)], g.some(["float32", "int64", "int32"])))
    return Draft("OneHot", [indices, depth, values], {"axis": g.within(-indices.ndim - 1, indices.ndim)})


@maker(1)
def generated(g):
    op = g.some(["EyeLike", "Range", "ConstantOfShape", "Shape", "Size"])
    if op == "EyeLike":
        dims = [g.within(1, 5), g.within(1, 5)]
        attributes = {"k": g.within(-3, 3)} if g.chance(.7) else {}
        if g.chance(.6):
            attributes["dtype"] = ONNX_TYPE[g.some(["float32", "float64", "int32", "int64", "uint64"])]
        return Draft(op, [g.fit(g.some(["float32", "float64", "int32", "int64"]), dims)], attributes)
    if op == "Range":
        kind = g.some(["float32", "float64", "int16", "int32", "int64"])
        step = g.some([1, 2, -1, -2] + ([.3, -.7] if kind[0] == "f" else []))
        return Draft(op, [g.const(np.array(x, kind)) for x in (g.within(-3, 3), g.within(-8, 8), step)])
    if op == "ConstantOfShape":
        value = {"value": g.tensor(np.array([g.within(-3, 3)]).astype(g.some(ALL)))} if g.chance(.8) else {}
        return Draft(op, [g.const(np.array([g.within(1, 4) for _ in range(g.within(0, 3))], np.int64))], value)
    a = g.value(ALL)
    attributes = {}
    if op == "Shape" and g.chance(.5):
        attributes = {"start": g.within(-6, 6), **({"end": g.within(-6, 6)} if g.chance(.5) else {})}
    return Draft(op, [a], attributes)


@maker(1)
def reverse_sequence(g):
    a = g.value(ALL, 2, 4)
    batch = g.within(0, 1)
    lengths = g.random.randint(1, a.shape[1 - batch] + 1, a.shape[batch]).astype(np.int64)
    return Draft("ReverseSequence", [a, g.index(lengths)], {"batch_axis": batch, "time_axis": 1 - batch})


@maker(.4, since=18)
def newer_movement(g):
    op = g.some(["CenterCropPad", "Col2Im"])
    if op == "CenterCropPad":
        a = g.value(["float32", "int32", "int8", "float64"], 1, 4)
        axes = g.axes(a.ndim)
        return Draft(op, [a, g.const(np.array([g.within(1, 6) for _ in axes], np.int64))], {"axes": axes})
    dims = [1, 2 * 4, 4 * 3]
    operands = [g.fit("float32", dims), g.const(np.array([5, 4], np.int64)), g.const(np.array([2, 2], np.int64))]
    return Draft(op, operands)


# --- windows ---

def window_attributes(g, spatial, kernel, pooling=False):
    attributes = {}
    if g.chance(.5):
        attributes["strides"] = [g.within(1, 3) for _ in kernel]
    if g.chance(.35):
        attributes["dilations"] = [g.within(1, 2) for _ in kernel]
    if g.chance(.3):
        attributes["auto_pad"] = g.some(["SAME_UPPER", "SAME_LOWER", "VALID"])
        attributes.pop("dilations", None) if g.chance(.5) else None
    elif g.chance(.6):
        attributes["pads"] = [g.within(0, (k - 1 if pooling else k)) for k in kernel * 2]
    return attributes


@maker(4)
def convolution(g):
    rank = g.some([1, 2, 2, 2, 3])
    groups = g.some([1, 1, 2, 3])
    channels = groups * g.within(1, 4)
    a = g.value(["float32"] * 6 + ["float64", "float16"], rank + 2, rank + 2, channels=channels,
                make=[g.within(1, 2), channels] + [g.within(3, 9) for _ in range(rank)])
    channels = a.shape[1]
    if channels % groups:
        groups = 1
    if g.chance(.2):
        groups = channels
    kernel = [g.within(1, 3) for _ in range(rank)]
    per = g.within(1, 3) * (4 if g.chance(.2) else 1)
    attributes = {"kernel_shape": kernel, **window_attributes(g, a.shape[2:], kernel)}
    if groups > 1:
        attributes["group"] = groups
    if g.chance(.3):
        attributes.pop("kernel_shape")
    weight = g.const(g.numbers(a.dtype, [per * groups, channels // groups] + kernel))
    bias = [g.const(g.numbers(a.dtype, [per * groups]))] if g.chance(.5) else []
    return Draft("Conv", [a, weight] + bias, attributes)


@maker(1.5)
def transposed_convolution(g):
    rank = g.some([1, 2, 2, 3])
    groups = g.some([1, 1, 2])
    channels = groups * g.within(1, 3)
    a = g.fit("float32", [g.within(1, 2), channels] + [g.within(2, 5) for _ in range(rank)])
    kernel = [g.within(1, 4) for _ in range(rank)]
    strides = [g.within(1, 3) for _ in range(rank)]
    attributes = {"strides": strides}
    if g.chance(.3):
        attributes["dilations"] = [g.within(1, 2) for _ in kernel]
    if groups > 1:
        attributes["group"] = groups
    if g.chance(.3):
        attributes["output_padding"] = [g.within(0, s - 1) for s in strides]
    if g.chance(.25):
        attributes["auto_pad"] = g.some(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif g.chance(.3):
        attributes["output_shape"] = [n * s + g.within(0, 1) for n, s in zip(a.shape[2:], strides)]
    elif g.chance(.5):
        attributes["pads"] = [g.within(0, k - 1) for k in kernel * 2]
    per = g.within(1, 3)
    bias = [g.const(g.numbers("float32", [per * groups]))] if g.chance(.5) else []
    return Draft("ConvTranspose", [a, g.const(g.numbers("float32", [channels, per] + kernel))] + bias, attributes)


@maker(4)
def pool(g):
    op = g.some(["MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool",
                 "GlobalLpPool"])
    rank = g.some([1, 2, 2, 2, 3])
    types = ["float32"] * 4 + ["float64", "float16"] + (["int8", "uint8"] * 2 if op == "MaxPool" else [])
    a = g.value(types, rank + 2, rank + 2, make=[g.within(1, 2), g.within(1, 4)] + [g.within(3, 9) for _ in range(rank)])
    if op[0] == "G":
        return Draft(op, [a], {"p": g.within(1, 3)} if op == "GlobalLpPool" else {})
    kernel = [g.within(1, 3) for _ in range(rank)]
    attributes = {"kernel_shape": kernel, **window_attributes(g, a.shape[2:], kernel, pooling=True)}
    if any(2 * k > n for k, n in zip(kernel, a.shape[2:])):
        attributes.pop("dilations", None)
        attributes["kernel_shape"] = [min(k, n) for k, n in zip(kernel, a.shape[2:])]
    if op == "LpPool":
        attributes["p"] = g.within(1, 3)
    if g.opset < {"AveragePool": 19, "LpPool": 18}.get(op, 10):
        attributes.pop("dilations", None)
    if (op != "LpPool" or g.opset >= 18) and g.chance(.4):
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and g.chance(.5):
        attributes["count_include_pad"] = 1
    if op == "MaxPool":
        if g.chance(.2):
            attributes["storage_order"] = 1
        return Draft(op, [a], attributes, g.within(1, 2))
    return Draft(op, [a], attributes)


@maker(3)
def resize(g):
    mode = g.some(["nearest", "linear", "cubic"])
    rank = g.some([1, 2, 2, 3]) if mode != "cubic" else 2
    a = g.value(["float32"] * 5 + ["uint8", "int8", "float64"], rank + 2, rank + 2,
                make=[1, g.within(1, 2)] + [g.within(1, 6) for _ in range(rank)], most=500)
    transforms = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
    transforms += ["half_pixel_symmetric"] if g.opset >= 19 else []
    transform = g.some(transforms)
    attributes = {"mode": mode, "coordinate_transformation_mode": transform}
    if mode == "nearest":
        attributes["nearest_mode"] = g.some(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attributes["cubic_coeff_a"] = g.some([-.5, -.75])
        attributes["exclude_outside"] = g.within(0, 1)
    if g.opset >= 18 and mode != "nearest" and g.chance(.3):
        attributes["antialias"] = 1
    roi = ""
    if transform == "tf_crop_and_resize":
        roi = g.const(np.array([0, 0] + [.1] * rank + [1, 1] + [.8] * rank, np.float32))
        attributes["extrapolation_value"] = 2.5
    spatial = a.shape[2:]
    if g.chance(.5) and transform != "tf_crop_and_resize":
        scales = [1., 1.] + [g.some([.5, .7, 1., 1.5, 2., 3.]) for _ in spatial]
        return Draft("Resize", [a, roi, g.const(np.array(scales, np.float32))], attributes)
    sizes = list(a.shape[:2]) + [g.within(1, 9) for _ in spatial]
    if g.opset >= 18 and g.chance(.3) and transform != "tf_crop_and_resize":
        attributes["axes"] = list(range(2, a.ndim))
        attributes["keep_aspect_ratio_policy"] = g.some(["stretch", "not_larger", "not_smaller"])
        sizes = sizes[2:]
    return Draft("Resize", [a, roi, "", g.const(np.array(sizes, np.int64))], attributes)


@maker(1)
def sampling(g):
    op = g.some(["GridSample", "RoiAlign", "MaxRoiPool"] + (["AffineGrid"] if g.opset >= 20 else []))
    if op == "AffineGrid":
        size = [g.within(1, 2), 2, g.within(1, 4), g.within(1, 4)]
        return Draft(op, [g.fit("float32", [size[0], 2, 3]), g.const(np.array(size, np.int64))],
                     {"align_corners": g.within(0, 1)})
    a = g.fit("float32", [g.within(1, 2), g.within(1, 2), g.within(3, 7), g.within(3, 7)])
    if op == "GridSample":
        modes = ["linear", "nearest", "cubic"] if g.opset >= 20 else ["bilinear", "nearest", "bicubic"]
        grid = g.const(g.random.uniform(-1.5, 1.5, [a.shape[0], 3, 4, 2]).astype(np.float32))
        return Draft(op, [a, grid], {"mode": g.some(modes), "padding_mode": g.some(["zeros", "border", "reflection"]),
                                     "align_corners": g.within(0, 1)})
    count = g.within(1, 3)
    corners = g.random.uniform(0, 4, [count, 2])
    rois = np.concatenate([corners, corners + g.random.uniform(.3, 5, [count, 2])], 1).astype(np.float32)
    if op == "MaxRoiPool":
        batch = g.random.randint(0, a.shape[0], [count, 1]).astype(np.float32)
        return Draft(op, [a, g.const(np.concatenate([batch, rois], 1))],
                     {"pooled_shape": [g.within(1, 3), g.within(1, 3)], "spatial_scale": float(g.some([1., .5, 2.]))})
    attributes = {"output_height": g.within(1, 3), "output_width": g.within(1, 3), "sampling_ratio": g.within(0, 2),
                  "spatial_scale": float(g.some([1., .5, 2.])), "mode": g.some(["avg", "max"])}
    if g.opset >= 16:
        attributes["coordinate_transformation_mode"] = g.some(["half_pixel", "output_half_pixel"])
    batch = g.const(g.random.randint(0, a.shape[0], count).astype(np.int64))
    return Draft(op, [a, g.const(rois), batch], attributes)


# --- products ---

@maker(4)
def product(g):
    a = g.value(["float32"] * 6 + ["float64", "float16", "int32", "int64", "uint32"], 1, 4)
    k = a.shape[-1]
    dims = [k] if g.chance(.15) else [k, g.within(1, 8)]
    if a.ndim > 2 and len(dims) == 2:
        dims = g.loosen(a.shape[:-2]) + dims
    return Draft("MatMul", [a, g.fit(a.dtype, dims)])


@maker(3)
def gemm(g):
    a = g.value(["float32"] * 6 + ["float64", "float16", "int32", "int64"], 2, 2)
    across, other = g.within(0, 1), g.within(0, 1)
    m, k = a.shape[::-1] if across else a.shape
    n = g.within(1, 8)
    operands = [a, g.fit(a.dtype, [n, k] if other else [k, n])]
    attributes = {name: value for name, value in (("transA", across), ("transB", other)) if value}
    if g.chance(.7):
        operands.append(g.fit(a.dtype, g.some([[m, n], [n], [1, n], [m, 1], [1], [], [1, 1]])))
    for name in ("alpha", "beta"):
        if g.chance(.4) and a.dtype.kind == "f":
            attributes[name] = float(g.some([0., .5, 2., -1.]))
    return Draft("Gemm", operands, attributes)


@maker(1.5)
def einsum(g):
    equation = g.some(["ij,jk->ik", "ij,jk", "bij,bjk->bik", "...ij,...jk->...ik", "ii->i", "ij->ji", "ij->", "i,j->ij", "bhid,bhjd->bhij",
                       "ij,ij->i", "i,i->", "ijk,ijk,k->ij", "...i->...", "abc->cab", "ij,kj,lk->il", "ii", "bij,jk->bik"])
    sizes, operands = {}, []
    kind = g.some(["float32"] * 4 + ["float64", "int32", "int64"])
    for term in equation.split("->")[0].split(","):
        dims = []
        for letter in term.replace("...", "*"):
            sizes.setdefault(letter, g.within(1, 4))
            dims.append(sizes[letter])
        operands.append(g.fit(kind, dims))
    return Draft("Einsum", operands, {"equation": equation})


@maker(2)
def recurrent(g):
    op = g.some(["LSTM", "GRU", "RNN"])
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    direction = g.some(["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    steps, batch, size, hidden = g.within(1, 5), g.within(1, 3), g.within(1, 4), g.within(1, 5)
    layout = int(g.chance(.1)) if g.opset >= 14 else 0
    numbers = lambda dims: g.const(g.numbers("float32", dims))
    operands = [g.fit("float32", [batch, steps, size] if layout else [steps, batch, size]), numbers([d, gates * hidden, size]),
                numbers([d, gates * hidden, hidden]), numbers([d, 2 * gates * hidden]) if g.chance(.7) else ""]
    lengths = g.random.randint(1, steps + 1, batch).astype(np.int32)
    operands.append(g.const(lengths) if g.chance(.4) else "")
    state = [batch, d, hidden] if layout else [d, batch, hidden]
    operands.append(g.fit("float32", state) if g.chance(.4) else "")
    if op == "LSTM":
        operands.append(g.fit("float32", state) if g.chance(.4) else "")
        operands.append(numbers([d, 3 * hidden]) if g.chance(.4) else "")
    attributes = {"hidden_size": hidden, "direction": direction}
    if layout:
        attributes["layout"] = 1
    if op == "GRU" and g.chance(.5):
        attributes["linear_before_reset"] = 1
    if op == "LSTM" and g.chance(.2):
        attributes["input_forget"] = 1
    if g.chance(.2):
        attributes["clip"] = .5
    if g.chance(.4):
        count = {"LSTM": 3, "GRU": 2, "RNN": 1}[op] * d
        kinds = ["Tanh", "Sigmoid", "Relu", "HardSigmoid", "Softsign", "Softplus", "Elu", "LeakyRelu", "ThresholdedRelu",
                 "ScaledTanh", "Affine"]
        attributes["activations"] = [g.some(kinds) for _ in range(count)]
        if any(kind in ("ScaledTanh", "Affine") for kind in attributes["activations"]):
            attributes["activation_alpha"] = [.5] * count
            attributes["activation_beta"] = [.25] * count
    return Draft(op, operands, attributes, 3 if op == "LSTM" else 2)


# --- integers that stand for reals ---

def scale(g, dims=()):
    return g.const(g.random.choice([.02, .05, .1, .5, 1., 2.], dims).astype(np.float32))


def zero_point(g, kind, dims=()):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    middle = (low + high + 1) // 2
    return g.const(g.random.randint(max(low, middle - 20), min(high, middle + 20) + 1, dims).astype(kind))


@maker(3)
def quantise(g):
    kind = g.some(["int8", "uint8"] + (["int16", "uint16"] if g.opset >= 21 else []))
    if g.chance(.5):
        a = g.value(["float32"] * 5 + ["int32"])
        op = "QuantizeLinear"
    else:
        a = g.value([kind, kind, "int32"])
        kind, op = str(a.dtype), "DequantizeLinear"
    dims, attributes = (), {}
    if a.ndim > 0 and g.chance(.4):
        axis = g.axis(a.ndim)
        dims, attributes = (a.shape[axis],), {"axis": axis}
    zero = [] if g.chance(.25) else [g.const(np.zeros(dims, kind)) if kind == "int32" else zero_point(g, kind, dims)]
    return Draft(op, [a, scale(g, dims)] + zero, attributes)


@maker(1)
def dynamic_quantise(g):
    return Draft("DynamicQuantizeLinear", [g.value(["float32"])], {}, 3)


@maker(3)
def quantised_product(g):
    op = g.some(["QLinearMatMul", "MatMulInteger", "QLinearConv", "ConvInteger"])
    left, right = g.some([("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8"), ("uint8", "int8")])
    if "Conv" in op:
        a = g.value([left], 4, 4, make=[1, g.within(1, 4), g.within(3, 7), g.within(3, 7)])
        kernel = [g.within(1, 3), g.within(1, 3)]
        outs = g.within(1, 5)
        w = g.const(g.numbers(right, [outs, a.shape[1]] + kernel))
        attributes = window_attributes(g, a.shape[2:], kernel)
        if op == "ConvInteger":
            points = [] if g.chance(.3) else [zero_point(g, left)] + ([zero_point(g, right)] if g.chance(.7) else [])
            return Draft(op, [a, w] + points, attributes)
        each = (outs,) if g.chance(.4) else ()
        w_zero = g.const(np.zeros(each, right)) if each else zero_point(g, right)
        out = g.some([left])
        bias = [g.const(g.random.randint(-500, 500, outs).astype(np.int32))] if g.chance(.5) else []
        return Draft(op, [a, scale(g), zero_point(g, left), w, scale(g, each), w_zero, scale(g), zero_point(g, out)] + bias,
                     attributes)
    a = g.value([left], 2, 4)
    b = g.fit(right, g.loosen(a.shape[:-2]) + [a.shape[-1], g.within(1, 6)])
    if op == "MatMulInteger":
        points = [] if g.chance(.3) else [zero_point(g, left)] + ([zero_point(g, right)] if g.chance(.7) else [])
        return Draft(op, [a, b] + points)
    return Draft(op, [a, scale(g), zero_point(g, left), b, scale(g), zero_point(g, right), scale(g), zero_point(g, left)])


# --- signals ---

@maker(1)
def signal(g):
    op = g.some(["DFT", "STFT", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"])
    if op.endswith("Window"):
        attributes = {"periodic": g.within(0, 1)} if g.chance(.7) else {}
        if g.chance(.3):
            attributes["output_datatype"] = g.some([1, 11])
        return Draft(op, [g.const(np.array(g.within(1, 9), g.some([np.int32, np.int64])))], attributes)
    if op == "MelWeightMatrix":
        return Draft(op, [g.const(np.array(x, t)) for x, t in ((g.within(2, 8), np.int64), (g.within(16, 64), np.int64),
                          (8192, np.int64), (0., np.float32), (4096., np.float32))])
    kind = g.some(["float32", "float32", "float64"])
    if op == "STFT":
        frame = g.within(2, 8)
        a = g.fit(kind, [g.within(1, 2), 24, 1])
        window = [g.const(g.numbers(kind, [frame]))]
        return Draft(op, [a, g.const(np.array(g.within(1, 5), np.int64))] + window + [g.const(np.array(frame, np.int64))],
                     {"onesided": g.within(0, 1)})
    onesided = g.within(0, 1)
    inverse = g.within(0, 1) if not onesided else 0
    dims = [g.within(1, 2), g.within(2, 8), g.within(1, 4), 2 if inverse else g.within(1, 2 - onesided)]
    axis = g.within(1, 2)
    length = [g.const(np.array(g.within(1, 9), np.int64))] if g.chance(.4) else [""]
    attributes = {"inverse": inverse, "onesided": onesided}
    if g.opset >= 20:
        return Draft(op, [g.fit(kind, dims)] + length + [g.const(np.array(axis, np.int64))], attributes)
    return Draft(op, [g.fit(kind, dims)] + [x for x in length if x], {"axis": axis, **attributes})


@maker(.5)
def loss(g):
    classes, batch = g.within(2, 5), g.within(1, 4)
    dims = [batch, classes] + [g.within(1, 3) for _ in range(g.within(0, 2))]
    target = g.const(g.random.randint(0, classes, [batch] + dims[2:]).astype(np.int64))
    weight = [g.const(g.random.uniform(.2, 1, classes).astype(np.float32))] if g.chance(.5) else []
    attributes = {"reduction": g.some(["none", "sum", "mean"])}
    if g.chance(.4):
        attributes["ignore_index"] = g.within(0, classes - 1)
    op = g.some(["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
    return Draft(op, [g.fit("float32", dims), target] + weight, attributes, g.within(1, 2) if op[0] == "S" else 1)


@maker(.3)
def determinant(g):
    n = g.within(1, 4)
    return Draft("Det", [g.fit(g.some(["float32", "float64"]), [g.within(1, 3)] * g.within(0, 1) + [n, n])])


# --- the newest ---

@maker(1.5, since=23)
def attention(g):
    batch, heads, width = g.within(1, 2), g.some([1, 2, 4]), 2 * g.within(1, 3)
    shared = g.some([n for n in (1, 2, 4) if heads % n == 0])
    queries, keys = g.within(1, 5), g.within(1, 5)
    if g.chance(.3):
        dims = [batch, g.within(1, 4), queries, width]
        caches = [g.const(g.random.uniform(-1, 1, [batch, queries, width // 2]).astype(np.float32)) for _ in range(2)]
        return Draft("RotaryEmbedding", [g.fit("float32", dims)] + caches, {"interleaved": g.within(0, 1)})
    if g.chance(.5):
        dims = [[batch, queries, heads * width], [batch, keys, shared * width], [batch, keys, shared * width]]
        attributes = {"q_num_heads": heads, "kv_num_heads": shared}
    else:
        dims = [[batch, heads, queries, width], [batch, shared, keys, width], [batch, shared, keys, width]]
        attributes = {}
    operands = [g.fit("float32", d) for d in dims]
    if g.chance(.4):
        operands.append(g.fit(g.some(["float32", "bool"]), g.some([[queries, keys], [batch, 1, queries, keys]])))
    for name, value in (("is_causal", 1), ("scale", .5), ("softcap", 2.)):
        if g.chance(.3):
            attributes[name] = value
    return Draft("Attention", operands, attributes)


@maker(1, since=19)
def newer_windows(g):
    if g.opset >= 24 and g.chance(.4):
        return Draft("Swish", [g.value(FLOATS)], {"alpha": g.some([.5, 1., 2.])} if g.chance(.5) else {})
    if g.opset >= 26 and g.chance(.5):
        a = g.value(["float32", "float64", "int32", "int64"], 1, 4)
        attributes = {name: g.within(0, 1) for name in ("exclusive", "reverse") if g.chance(.6)}
        return Draft("CumProd", [a, g.const(np.array(g.axis(a.ndim), np.int64))], attributes)
    channels, kernel, groups = g.some([2, 4]), [g.within(1, 3), g.within(1, 3)], g.within(1, 2)
    a = g.fit("float32", [1, channels, g.within(3, 6), g.within(3, 6)])
    extents = [n - k + 1 for n, k in zip(a.shape[2:], kernel)]
    offsets = [g.random.uniform(-1, 1, [1, n * groups * kernel[0] * kernel[1]] + extents).astype(np.float32) for n in (2, 1)]
    operands = [a, g.const(g.numbers("float32", [2, channels] + kernel)), g.const(offsets[0])]
    if g.chance(.5):
        operands += [g.const(g.numbers("float32", [2])) if g.chance(.5) else "", g.const(offsets[1])]
    return Draft("DeformConv", operands, {"offset_group": groups})


@maker(.5)
def unpool(g):
    a = g.fit("float32", [1, g.within(1, 2), g.within(1, 3), g.within(1, 3)])
    channels, rows, columns = a.shape[1:]
    rows, columns = 2 * rows, 2 * columns
    index = np.stack([g.random.choice(rows * columns, a.size // channels, replace=False) + c * rows * columns
                      for c in range(channels)]).reshape(a.shape)
    return Draft("MaxUnpool", [a, g.index(index.astype(np.int64))], {"kernel_shape": [2, 2], "strides": [2, 2]})


# --- shapes that only a run knows ---

@maker(1, run_time=True)
def run_time_shape(g):
    op = g.some(["NonZero", "Unique", "Compress", "NonMaxSuppression"])
    if op == "NonZero":
        return Draft(op, [g.value(["float32", "int64", "int32", "bool", "uint8"])])
    if op == "Unique":
        a = g.value(["float32", "float64", "int64", "int8"], 1, 3)
        attributes = {"sorted": g.within(0, 1)}
        if g.chance(.5):
            attributes["axis"] = g.axis(a.ndim)
        return Draft(op, [a], attributes, 4)
    if op == "Compress":
        a = g.value(ALL, 1, 4)
        axis = g.axis(a.ndim)
        whole = g.chance(.3)
        keep = g.fit("bool", [g.within(1, a.size if whole else a.shape[axis])])
        return Draft(op, [a, keep], {} if whole else {"axis": axis})
    count, classes = g.within(2, 8), g.within(1, 2)
    corners = g.random.uniform(0, 5, [1, count, 2])
    boxes = np.concatenate([corners, corners + g.random.uniform(.5, 4, [1, count, 2])], -1).astype(np.float32)
    scores = g.const(g.random.uniform(0, 1, [1, classes, count]).astype(np.float32))
    rest = [g.const(np.array([g.within(1, 4)], np.int64)), g.const(np.array([.5], np.float32)),
            g.const(np.array([.2], np.float32))][:g.within(1, 3)]
    return Draft(op, [g.const(boxes), scores] + rest, {"center_point_box": g.within(0, 1)})
