#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Chooses the kernels of the bundle in the Python package and writes python/builtin_matrix.json, a
# matrix of `cubinet prebuild`. Needs neither a GPU nor a compiler of CUDA. The choice is that of
# tests/session/builtin_kernels.cpp; a test compares the file with it.
#
# Usage: builtin_matrix.sh [BUILD]
#   BUILD    a build folder with tests; default: build/dev
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${1:-$root/build/dev}

cmake --build "$build" --target test_session_choice
CUBINET_WRITE_BUILTIN_MATRIX=$root/python/builtin_matrix.json "$build/tests/session/test_session_choice" --minimal
python3 - "$root/python/builtin_matrix.json" <<'PY'
import json, sys
elements = json.load(open(sys.argv[1]))["kernels"]
count = sum(len(e["targets"]) * len(e["parameters"].get("page_size", [0])) for e in elements)
print(f"{sys.argv[1]}: {count} kernels")
PY
