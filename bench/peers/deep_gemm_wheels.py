#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wheels with which cubinet-nvcc compiles DeepGEMM's sources without a toolkit: all of them do, and each is needed.

Usage: deep_gemm_wheels.py --cubinet-nvcc FILE --tool FILE --wheel FOLDER [--commit C] [-o RESULT.json]
  --wheel FOLDER   sgl-deep-gemm 0.2.5, unpacked (scripts/corpus/fetch.py)

pip fetches the wheels. For all of them, and without each in turn, deep_gemm_lines.py compiles the first kernel of each
generator in a mount namespace (`unshare`) in which the folders of a toolkit, /usr/local/cuda*, are empty. Exits with 1 if a
kernel does not compile with all, or all do without one."""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from rounds import write

HERE = pathlib.Path(__file__).resolve().parent
WHEELS = ("nvidia-cuda-nvrtc==13.0.88", "nvidia-cuda-runtime==13.0.96", "nvidia-cuda-cccl==13.0.85")
OPTIONAL = "nvidia-nvjitlink==13.0.88"  # smaller cubins
HIDE = """for folder in /usr/local/cuda*; do
  [ -L "$folder" ] || mount -t tmpfs none "$folder" || exit 90
done
[ -e /usr/local/cuda/bin ] || [ -e /usr/local/cuda/include ] || [ -n "$(command -v nvcc)" ] && exit 91
for library in $(ldconfig -p | sed -n 's/.*=> //p' | grep libnvrtc); do
  [ -e "$library" ] && exit 92
done
exec "$@"
"""
HIDDEN_FAILED = {90: "cannot hide a folder", 91: "a toolkit is visible", 92: "an NVRTC is on the loader's path"}


def fetch(folder):
    """Installs each wheel in a folder of its own."""
    for wheel in (*WHEELS, OPTIONAL):
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check",
                        "--root-user-action=ignore", "--target", folder / wheel, wheel], check=True)


def join(folder, wheels, target):
    """Makes what `pip install --target` makes of these wheels."""
    for wheel in wheels:
        shutil.copytree(folder / wheel, target, dirs_exist_ok=True)


def compile_all(arguments, wheels, scratch):
    """Returns a row: how many kernels compile."""
    result = scratch / "result.json"
    made = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", HIDE, "sh", sys.executable,
                           HERE / "deep_gemm_lines.py", "--cubinet-nvcc", arguments.cubinet_nvcc, "--tool", arguments.tool,
                           "--wheel", arguments.wheel, "--wheels", wheels, "--nvcc", "", "--first", "-o", result],
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, capture_output=True, text=True, check=False)
    if made.returncode in HIDDEN_FAILED or not result.exists():
        raise SystemExit(HIDDEN_FAILED.get(made.returncode, made.stderr))
    document = json.loads(result.read_text(encoding="utf-8"))
    result.unlink()
    passed = [text for text in document["failures"] if text.startswith("passed on: ")]
    failed = {text.split(",")[0] for text in document["failures"] if text not in passed}
    missing = sorted(set(re.findall(r'could not open source file "(.*?)"', "".join(passed))))
    missing += ["NVRTC"] if any("no NVRTC" in reason for reason in passed) else []
    return {"kernels": len(document["rows"]), "compiled": len(document["rows"]) - len(failed), "missing": missing}


def main():
    parser = argparse.ArgumentParser()
    for name in ("--cubinet-nvcc", "--tool", "--wheel"):
        parser.add_argument(name, required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="deep-gemm-wheels-") as name:
        scratch = pathlib.Path(name)
        fetch(scratch / "fetched")
        sets = {"all": WHEELS, f"all and {OPTIONAL}": (*WHEELS, OPTIONAL)}
        sets |= {f"without {left}": tuple(wheel for wheel in WHEELS if wheel != left) for left in WHEELS}
        for label, wheels in sets.items():
            target = scratch / "wheels"
            join(scratch / "fetched", wheels, target)
            rows.append({"name": label} | compile_all(arguments, target, scratch))
            shutil.rmtree(target)
            print(rows[-1], file=sys.stderr, flush=True)
    write(arguments.output, "deep_gemm_wheels", arguments.commit, rows, wheels=WHEELS)
    return 0 if all((each["compiled"] == each["kernels"]) == each["name"].startswith("all") for each in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
