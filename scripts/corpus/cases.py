#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what to launch of the corpus, and what it has to leave behind: references in numpy, most of them those of the
kernels' own tests and examples. `cubinet_bench corpus` runs them on a machine with a GPU (docs/corpus.md).

usage: cases.py FOLDER OUTPUT.json [CUBIN.bundle --cubinet TOOL]
With a bundle, the kernels are compiled for sm_90a and put into it.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

random = numpy.random.default_rng(20)


def array(values, expected=None, tolerance=0.0):
    """An argument that points to these; `expected`: what is there afterwards."""
    values = numpy.ascontiguousarray(values)
    given = {"type": values.dtype.name, "array": values.ravel().tolist()}
    if expected is not None:
        given |= {"expected": numpy.asarray(expected, dtype=numpy.float64).ravel().tolist(), "tolerance": tolerance}
    return given


def value(dtype, number):
    return {"type": dtype, "value": number}


def floats(*shape):
    return random.uniform(-2, 2, shape).astype(numpy.float32)


def doubles(*shape):
    return random.uniform(-2, 2, shape)


def case(item, kernel, grid, block, *arguments, **more):
    return {"item": item, "kernel": kernel, "grid": list(grid), "block": list(block), "arguments": list(arguments), **more}


def binary(item, kernel, operation, dtype=numpy.float32, n=100, tolerance=1e-6):
    """(x1, x2, y, N): the tests of CuPy's RawKernel."""
    a, b = (random.uniform(0.5, 2, n).astype(dtype) for _ in range(2))
    return case(item, kernel, (4,), (32,), array(a), array(b), array(numpy.zeros(n, dtype), operation(a, b), tolerance),
                value("uint32", n))


def life(board):
    count = sum(numpy.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - board
    return (count == 3) | ((count == 2) & (board == 1))


def max_len_seq(taps, state, length):
    state, sequence = list(state), []
    for _ in range(length):
        sequence.append(state[0])
        state = state[1:] + [state[0] ^ state[taps[0]]]
    return sequence, state


def intervals(t, x, k, n):
    return [min(max(numpy.searchsorted(t, value, "right") - 1, k), n - 1) for value in x]


def all_cases():
    raw = "cupy_tests_test_raw_"
    yield binary(raw + "26", "test_sum", numpy.add)
    yield binary(raw + "35", "test_op", numpy.add)
    yield binary(raw + "46", "test_sum", numpy.add)
    yield binary(raw + "46", "test_multiply", numpy.multiply)
    yield binary(raw + "73", "test_sum", numpy.add, numpy.float64)
    yield binary(raw + "73", "test_multiply", numpy.multiply, numpy.float64)
    yield binary(raw + "135", "test_div", lambda a, b: a / (b + 1.0), tolerance=1e-5)
    x = doubles(64)
    yield case(raw + "324", "my_func", (2,), (32,), array(x, x * x, 1e-12), value("int32", 64))
    ints = numpy.arange(64, dtype=numpy.int32)
    yield case(raw + "324", "my_sqrt<int>", (2,), (32,), array(ints, ints * ints), value("int32", 64))
    yield case(raw + "324", "my_sqrt<unsigned int>", (2,), (32,), array(ints.astype(numpy.uint32), ints * ints), value("int32", 64))
    single = floats(64)
    yield case(raw + "324", "my_sqrt<float>", (2,), (32,), array(single, single * single, 1e-6), value("int32", 64))
    z = doubles(64) + 1j * doubles(64)
    yield case(raw + "324", "my_sqrt<complex<double>>", (2,), (32,), array(z.view(numpy.float64), (z * z).view(numpy.float64), 1e-12),
               value("int32", 64))
    yield case(raw + "343", "my_func", (2,), (32,), array(x, 3.0 * x - 8.0, 1e-12), value("int32", 64))
    a, b = floats(1024), floats(1024)
    yield case(raw + "1181", "test_grid_sync", (16,), (32,), array(a), array(b), array(numpy.zeros(1024, numpy.float32), a + b, 1e-6),
               value("int32", 1024), cooperative=True)
    d = doubles(128)
    for line in ("23", "43"):
        yield case("cupy_tests_test_function_" + line, "test_kernel", (1,), (128,), array(d), value("float64", 2.5),
                   array(numpy.zeros(128), d + 2.5, 1e-12))
    z = (doubles(256) + 1j * doubles(256)).astype(numpy.complex64)
    w = (doubles(256) - 1j * doubles(256)).astype(numpy.complex64)
    yield case("cupy_tests_test_import_36", "my_func", (8,), (32,), array(z.view(numpy.float32)), array(w.view(numpy.float32)),
               array(numpy.zeros(512, numpy.float32), (z + numpy.float32(2) * w).view(numpy.float32), 1e-6), value("float32", 2.0))
    window = doubles(9)
    yield case("cupy_tests_test_filters_581", "rms", (1,), (1,), array(window), value("int32", 9),
               array(numpy.zeros(1), [numpy.mean(window ** 2)], 1e-12))
    yield case("cupy_tests_test_filters_595", "lt", (1,), (1,), array(window), value("int32", 9),
               array(numpy.zeros(1), [numpy.sum(window[4] > window)]))
    yield case("cupy_tests_test_filters_716", "shift", (1,), (1,), array(d), value("int64", 128), array(numpy.zeros(100), d[:100]),
               value("int64", 100))

    index = random.integers(0, 10, 200).astype(numpy.int32)
    yield case("cupy_cupyx_compressed_770", "bincount_idx_global<int>", (7,), (32,), value("int32", 200), array(index),
               array(numpy.zeros(10, numpy.int32), numpy.bincount(index, minlength=10)))
    yield case("cupy_cupyx_compressed_770", "bincount_idx_global<long long>", (7,), (32,), value("int32", 200),
               array(index.astype(numpy.int64)), array(numpy.zeros(10, numpy.int32), numpy.bincount(index, minlength=10)))
    t, x = numpy.sort(doubles(20)), doubles(50)
    x = numpy.clip(x, t[3], t[16])
    yield case("cupy_cupyx_bspline_17", "find_interval", (2,), (32,), array(t), array(x),
               array(numpy.zeros(50, numpy.int64), intervals(t, x, 3, 16)), value("int32", 3), value("int32", 16),
               value("uint8", 1), value("int32", 50))
    state = numpy.ones(5, numpy.int8)
    sequence, _ = max_len_seq([3], state, 1)
    yield case("cupy_cupyx_max_len_seq_15", "max_len_seq", (1,), (5,), value("int64", 1), value("int64", 1), value("int32", 5),
               array(numpy.array([3], numpy.int64)), array(state), array(numpy.zeros(1, numpy.int8), sequence))
    sums = numpy.cumsum(numpy.abs(floats(64))).astype(numpy.float32)
    guard, reference, cells = 2, 4, 64 - 2 * 6
    mask = numpy.zeros(64, numpy.float32)
    for i in range(cells):
        at = i + guard + reference
        big = sums[at + 6] - (sums[at - 7] if i > 0 else 0)
        mask[at] = 0.5 / 8 * (big - (sums[at + 2] - sums[at - 3]))
    yield case("cupy_cupyx_radartools_283", "_ca_cfar_1d_kernel", (1,), (32,), array(sums), array(sums),
               array(numpy.zeros(64, numpy.float32), mask, 1e-4), value("int32", 64), value("int32", 8), value("float32", 0.5),
               value("int32", guard), value("int32", reference))

    x = floats(16)
    for item in ("pycuda_examples_demo_19", "pycuda_examples_cai_cupy_arrays_17", "pycuda_test_test_driver_834"):
        yield case(item, "doublify", (1,), (4, 4), array(x, 2 * x))
    yield case("pycuda_test_test_gpuarray_1149", "twice", (1,), (16,), array(x, 2 * x))
    a, b = floats(400), floats(400)
    for item in ("pycuda_examples_hello_gpu_9", "pycuda_test_test_driver_29", "pycuda_test_test_driver_50"):
        yield case(item, "multiply_them", (1,), (400,), array(numpy.zeros(400, numpy.float32), a * b, 1e-6), array(a), array(b))
    yield case("pycuda_test_test_driver_105", "multiply_them", (1,), (20, 20), array(numpy.zeros(400, numpy.float32), a * b, 1e-6),
               array(a), array(b))
    yield case("pycuda_test_test_driver_1150", "gpu_arange", (1,), (64,), array(numpy.zeros(64, numpy.int32), numpy.arange(64)))
    yield case("pycuda_examples_multiple_threads_37", "f", (1,), (16,), array(numpy.zeros(16, numpy.float32), x + 6, 1e-6), array(x))
    yield case("pycuda_examples_c__function_templates_10", "func", (1,), (16,), array(x, x + 1, 1e-6), value("int32", 16))
    yield case("pycuda_examples_arithmetic_example_25", "func", (1,), (32,), array(x, (x + 2) / 4, 1e-6), value("int32", 16),
               value("float32", -2.0), value("int32", 4))
    m, n = floats(2, 2), floats(2, 2)
    yield case("pycuda_examples_matrixmul_simple_17", "MatrixMulKernel", (1,), (2, 2), array(m), array(n),
               array(numpy.zeros((2, 2), numpy.float32), m @ n, 1e-6))
    m = floats(32, 48)
    yield case("pycuda_examples_matrix_transpose_23", "transpose", (3, 2), (16, 16), array(numpy.zeros((48, 32), numpy.float32), m.T),
               array(m), value("int32", 48), value("int32", 32))
    board = random.integers(0, 2, (16, 16)).astype(numpy.int32)
    yield case("pycuda_examples_game_of_life_37", "step", (2, 2), (8, 8), array(board), array(numpy.zeros_like(board), life(board)))
    image = random.integers(0, 256, (64, 4)).astype(numpy.uint8)
    inverted = image.copy()
    inverted[:, :3] = 255 - image[:, :3]
    yield case("pycuda_examples_gl_interop_285", "invert", (1,), (8, 8), array(image), array(image.copy(), inverted))
    s = floats(32)
    wave = s.copy()
    for _ in range(3):
        wave = numpy.sin(wave)
    yield case("pycuda_examples_simple_speed_test_76", "gpusin", (1,), (32,), array(numpy.zeros(32, numpy.float32), wave, 1e-5),
               array(s), value("int32", 3))


def main(arguments):
    folder, output = pathlib.Path(arguments[0]), pathlib.Path(arguments[1])
    cases = []
    for made in all_cases():
        path = folder / "items" / (made["item"] + ".json")
        item = json.loads(path.read_text())
        cases.append({"name": item["name"], "source": item["source"], "names": item["names"] or [], "flags": item["flags"], **made})
    output.write_text(json.dumps(cases))
    print(f"{len(cases)} launches of {len({case['name'] for case in cases})} kernels' sources: {output}")
    if len(arguments) > 2:
        make_bundle(folder, cases, pathlib.Path(arguments[2]), arguments[arguments.index("--cubinet") + 1])


def make_bundle(folder, cases, bundle, tool):
    with tempfile.TemporaryDirectory() as scratch:
        compiled = {}
        for name in {case["name"] for case in cases}:
            item = json.loads((folder / "items" / (name + ".json")).read_text())
            source = pathlib.Path(scratch, name + ".cu")
            source.write_text(item["source"])
            compiled[name] = str(pathlib.Path(scratch, name + ".cubin"))
            words = [word for expression in item["names"] for word in ("--name", expression)]
            words += [word for path in item["include"] for word in ("-I", path)] + ["--flag=" + flag for flag in item["flags"]]
            subprocess.run([tool, "compile", "--source", str(source), "--target", "sm_90a", "-o", compiled[name], "--record",
                            "--home", str(folder / "output/home"), *words], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([tool, "bundle", "create", "-o", str(bundle), *sorted(compiled.values())], check=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1:])
