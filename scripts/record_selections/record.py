#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records which published kernels FlashInfer's own host code selects for random problems.

Usage: record.py VERSION CUBINS COUNT SEED OUTPUT

VERSION is a release of flashinfer-python, which pip fetches. CUBINS is the folder that
`fetch_published.sh cubins` prints. Its metadata header is that of 0.6.13: from 0.6.18 on, the code
is compiled with the columns that the header lacks, at their defaults. OUTPUT gets one JSON line per
problem, compressed. The same arguments give the same file. The publisher's headers are compiled
unchanged, with stand-ins for the headers that selection does not use, and run against a driver that
executes nothing (harness.cc): a device of 10.0 with 148 SMs.
"""
import gzip
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
FMHA = "flashinfer/trtllm/fmha/"
PUBLISHED = [
    "flashinfer/exception.h",
    "flashinfer/trtllm/common.h",
    FMHA + "fmhaKernels.cuh",
    FMHA + "fmhaReduction.h",
    FMHA + "fmhaRunnerParams.h",
]
STAND_INS = {
    "cuda/std/cfloat": "#include <cfloat>\n",
    "flashinfer/utils.cuh": """#pragma once
#define FLASHINFER_CUDA_CHECK(call) (void)(call)
namespace flashinfer {
template <class A, class B>
constexpr A ceil_div(A a, B b) { return (a + b - 1) / b; }
inline int UpPowerOfTwo(int value) {
  int power = 1;
  while (power < value) power *= 2;
  return power;
}
}
""",
    FMHA + "lse.cuh": """#pragma once
namespace flashinfer {
template <class... Values>
cudaError_t ComputeLSEFromMD(Values...) { return cudaSuccess; }
}
""",
    FMHA + "kernelParams.h": """#pragma once
#include "../common.h"
#include "fmhaRunnerParams.h"
#include <cmath>
#include <string>
struct KernelParams {
  const float *ptrSageAttnSfsQ, *ptrSageAttnSfsK, *ptrSageAttnSfsP, *ptrSageAttnSfsV;
  int mLogNumEltsPerSageAttnBlkQ, mLogNumEltsPerSageAttnBlkK, mLogNumEltsPerSageAttnBlkP;
  int mLogNumEltsPerSageAttnBlkV;
  template <class... Values>
  static KernelParams setKernelParams(Values const&...) { return {}; }
};
""",
}
NEW_COLUMNS = [
    "mEnablesBf16QFp8KvKOnlyTransform",
    "mSeparateTransformedKv",
    "mFp16Softmax",
    "mUsesSpcompress",
    "mFusesDsv4InvRopeFp8Quant",
    "mUsesDsv4Ue8m0ScaleO",
]


def problems(count, seed):
    """Returns lines of `key=value` words, as tests/cli/goldens has them."""
    rng = random.Random(seed)
    types = [("bf16", "bf16", "bf16"), ("fp16", "fp16", "fp16"), ("e4m3", "e4m3", "bf16"),
             ("e4m3", "e4m3", "e4m3"), ("e4m3", "e4m3", "fp16"), ("e4m3", "e4m3", "e2m1"),
             ("bf16", "e4m3", "bf16"), ("fp16", "e4m3", "fp16"), ("e4m3", "e2m1", "e4m3"),
             ("e4m3", "e2m1", "bf16")]
    for number in range(count):
        operation = rng.choice(["decode"] * 6 + ["mla"] * 4 + ["prefill", "ragged"])
        context = operation in ("prefill", "ragged")
        batch = rng.choice([1, 1, 2, 3, 4, 7, 8, 16, 17, 32, 64, 100, 256])
        q = rng.choice([1, 1, 1, 2, 3, 4, 5, 8, 16, 20, 40])
        kv = rng.choice([rng.randint(1, 600), rng.randint(600, 9000), rng.randint(9000, 140000),
                         2 ** rng.randint(5, 17)])
        window, top_k = 0, 0
        if operation == "mla":
            heads_kv, dims = 1, (576, 512)
            heads = rng.choice([4, 8, 8, 12, 16, 16, 20, 24, 32, 32, 40, 48, 64, 64, 128, 128])
            kinds = rng.choice([types[0], types[2], types[2], types[3]])
            if rng.randrange(5) == 0:
                top_k = rng.choice([128, 512, 2048])
        else:
            heads_kv = rng.choice([1, 1, 2, 4, 8])
            heads = heads_kv * rng.choice([1, 2, 4, 5, 6, 7, 8, 8, 12, 16, 32, 64])
            dims = rng.choice([(64, 64), (128, 128), (128, 128), (256, 256), (512, 512)])
            kinds = rng.choice(types)
            window = rng.choice([0, 0, 0, 0, 128, 1024, 4096])
        if context:
            q = rng.choice([1, 7, 100, 511, 2048, 5000])
            dims = rng.choice([dims, (192, 128)]) if operation == "ragged" else dims
        kv = q if operation == "ragged" else max(q, kv)
        mask = rng.choice(["causal", "causal", "dense"]) if context else "causal"
        page = rng.choice([16, 32, 32, 64, 64, 128, 256, 512])
        line = (f"id={seed}_{number} op={operation} batch={batch} q={q} kv={kv} hq={heads} hkv={heads_kv} "
                f"dqk={dims[0]} dv={dims[1]} tq={kinds[0]} tkv={kinds[1]} to={kinds[2]} page={page} "
                f"window={window if mask == 'causal' else 0} mask={mask}")
        yield line + (f" topk={top_k}" if top_k else "")


def fetch(version, folder):
    """Returns the wheel of flashinfer-python."""
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder,
                    f"flashinfer-python=={version}"], check=True)
    return next(pathlib.Path(folder).glob("flashinfer_python-*.whl"))


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def build(version, cubins, folder):
    """Compiles the harness with the publisher's headers and returns its path."""
    include = pathlib.Path(folder) / "include"
    with zipfile.ZipFile(fetch(version, folder)) as wheel:
        for name in PUBLISHED:
            write(include / name, wheel.read("flashinfer/data/include/" + name).decode())
    for name, text in STAND_INS.items():
        write(include / name, text)
    header = next(pathlib.Path(cubins).glob("**/fmha/trtllm-gen/include/flashInferMetaInfo.h")).read_text()
    added = "".join(f"    bool {column} = false;\n" for column in NEW_COLUMNS)
    header = re.sub(r"(const char\* sha256;\n)", lambda found: found[1] + added, header, count=1)
    write(include / FMHA / "flashInferMetaInfo.h", header)
    toolkit = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"
    program = pathlib.Path(folder) / "harness"
    subprocess.run(["g++", "-std=c++20", "-O1", "-w", "-DTLLM_GEN_FMHA_CUBIN_PATH=\"\"",
                    "-DTLLM_GEN_FMHA_METAINFO_HASH=\"\"", f"-I{include}", f"-I{include / FMHA}", f"-I{toolkit}",
                    str(HERE / "harness.cc"), "-o", str(program)], check=True)
    return program


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    version, cubins, count, seed, output = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        program = build(version, cubins, folder)
        text = "".join(line + "\n" for line in problems(int(count), int(seed)))
        answers = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout
    with open(output, "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed:
        packed.write(answers.encode())


if __name__ == "__main__":
    main()
