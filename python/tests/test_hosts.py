# SPDX-License-Identifier: Apache-2.0
"""Models for the hosts of a cluster: all of them run in this process."""
import threading

import numpy as np
import pytest

import collage

RULES = """rules 1
cluster pair {
  host count 2 {
    memory 1 MiB
    link host bandwidth 1 GB/s latency 1 us duplex
  }
}
"""

# y = -Relu(x)[i], with the row looked up at the second host, which fails where there is none.
MODEL = """model @pair(%x: f32[4, 16], %i: i64[1]) -> (%y: f32[1, 16]) {
  %a = partition @p0 on host(host) cost 3us (%x) -> (host) {
    %a = Relu(%x) : f32[4, 16]
  }
  %a.host1 = convert %a to host[1] cost 1.256us : f32[4, 16]
  %i.host1 = convert %i to host[1] cost 1.008us : i64[1]
  %b = partition @p1 on host(host[1]) cost 4us (%a.host1, %i.host1) -> (host[1]) {
    %b = Gather(%a.host1, %i.host1) : f32[1, 16]
  }
  %b.host = convert %b to host cost 1.064us : f32[1, 16]
  %y = partition @p2 on host(host) cost 5us (%b.host) -> (host) {
    %y = Neg(%b.host) : f32[1, 16]
  }
}
"""

# Two products whose weights of 16 KiB do not fit one host.
LARGE = """model @two(%x: f32[4, 64]) -> (%y: f32[4, 64]) {
  %v = const random seed 1 : f32[64, 64]
  %w = const random seed 2 : f32[64, 64]
  %a = MatMul(%x, %v)
  %y = MatMul(%a, %w)
}
"""

X = np.arange(64, dtype="float32").reshape(4, 16) - 8


def expected(row):
    return -np.maximum(X[[row]], 0)


@pytest.fixture(scope="module")
def pair(compiled):
    return compiled(MODEL, rules=[RULES])


@pytest.fixture(scope="module")
def loaded(pair, tmp_path_factory):
    path = tmp_path_factory.mktemp("hosts") / "pair.collage"
    pair.save(path)
    return collage.load(path)


@pytest.mark.parametrize("name", ["pair", "loaded"])
def test_runs(name, request):
    program = request.getfixturevalue(name)
    for row in range(4):
        np.testing.assert_array_equal(program(X, np.array([row])), expected(row))
    assert "on host(host[1])" in program.placed_model


@pytest.mark.parametrize("name", ["pair", "loaded"])
def test_a_failure_is_that_of_the_call(name, request):
    program = request.getfixturevalue(name)
    for _ in range(2):
        with pytest.raises(collage.CollageError, match=r"^host\[1\]: .*index 9 is out of range"):
            program(X, np.array([9]))
        np.testing.assert_array_equal(program(X, np.array([2])), expected(2))


def test_threads_run_at_once(pair):
    wrong = []

    def run(row):
        for _ in range(10):
            if not np.array_equal(pair(X, np.array([row])), expected(row)):
                wrong.append(row)

    threads = [threading.Thread(target=run, args=(row,)) for row in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_tables_name_hosts(pair):
    assert pair.placement.column("device") == ["host", "host[1]", "host"]
    assert pair.placement.partitions.column("device") == ["host", "host[1]", "host"]
    assert {(row["from"], row["to"]) for row in pair.placement.conversions} == {("host", "host[1]"), ("host[1]", "host")}


def test_profile_names_hosts(loaded):
    profile = loaded.profile(X, np.array([1]))
    assert set(profile.column("host")) == {"host", "host[1]"}
    assert sum(profile.column("share")) == pytest.approx(1)


def test_what_fits_no_host_is_cut(compiled):
    one = compiled(LARGE, rules=[])
    two = compiled(LARGE, rules=[RULES.replace("1 MiB", "24 KiB")])
    assert set(two.placement.column("device")) == {"host", "host[1]"}
    x = np.linspace(-1, 1, 256, dtype="float32").reshape(4, 64)
    np.testing.assert_allclose(two(x), one(x), rtol=1e-5, atol=1e-5)
