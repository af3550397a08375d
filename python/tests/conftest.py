# SPDX-License-Identifier: Apache-2.0
"""Tests of the package in a build folder: pytest python/tests --build build/release"""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUIET = {"costs": "estimate", "cache": "", "cost_db": "", "threads": 1}  # nothing is measured, nothing is kept


def pytest_addoption(parser):
    parser.addoption("--build", required=True, help="folder of the build")


def pytest_configure(config):
    sys.path.insert(0, str(pathlib.Path(config.getoption("--build")).resolve() / "python"))


@pytest.fixture(scope="session")
def build(pytestconfig):
    return pathlib.Path(pytestconfig.getoption("--build")).resolve()


@pytest.fixture(scope="session")
def compiled():
    """Compiles without measuring."""
    import collage

    def compile(model, inputs=None, **keywords):
        return collage.compile(model, inputs, **{**QUIET, **keywords})

    return compile


@pytest.fixture(scope="session")
def digits_path():
    return ROOT / "examples/digits/digits.ir"


@pytest.fixture(scope="session")
def digits(compiled, digits_path):
    return compiled(digits_path)


@pytest.fixture(scope="session")
def images():
    import numpy

    return numpy.load(ROOT / "examples/digits/test_images.npy")


@pytest.fixture(scope="session")
def labels():
    import numpy

    return numpy.load(ROOT / "examples/digits/test_labels.npy")
