#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The catalogs of sources in two unpacked wheels, imported and prebuilt into a bundle each: kernels built, bytes and
core-seconds. Needs no GPU.

Usage: prebuilt_sources.py --tool TOOL --flashinfer FOLDER --cudnn FOLDER --commit COMMIT -o RESULT.json
  FOLDER   flashinfer-python 0.7.2.post1 and nvidia-cudnn-frontend 1.28.0, unpacked
Exits with 1 if a manifest is refused or a kernel is missing.
"""
import argparse
import collections
import pathlib
import shutil
import tempfile

from published_bundle import Timed
from published_import import Checks, Tool
from rounds import write

ROOT = pathlib.Path(__file__).resolve().parents[2]
CUDNN_MANIFEST = ROOT / "sources/manifests/cudnn_frontend-1.28.0.manifest.json"
TARGETS = {"sm_90a": 22, "sm_100a": 9, "sm_103a": 105}


def prebuild(tool, work, label, folder, *more):
    """Returns a row of figures, the imported catalogs and the result of prebuild."""
    with Timed() as importing:
        imported = tool.run("import-sources", folder, *more, status=(0, 1))
    for refused in imported["refused"]:
        print("    ", refused["reason"], flush=True)
    bundle = work / f"{label}.bundle"
    names = [argument for catalog in imported["catalogs"] for argument in ("--sources", catalog["name"])]
    with Timed() as building:
        built = tool.run("prebuild", *names, "-o", bundle, status=(0, 2))
    for failed in built["failed"]:
        print("     failed:", failed["name"], failed["error"]["message"][:200], flush=True)
    median = {"kernels": imported["kernels"], "built": built["kernels"], "core-seconds": building.core_seconds,
              "seconds": building.seconds, "import seconds": importing.seconds,
              "bytes": pathlib.Path(built["bundle"]).stat().st_size,
              "bytes of images": sum(result["bytes"] for result in built["results"]),
              "longest compilation": max(result["seconds"] for result in built["results"])}
    print("    ", label, median, flush=True)
    return {"name": label, "unit": "", "median": median}, imported, built


def main():
    parser = argparse.ArgumentParser()
    for name in ("--tool", "--flashinfer", "--cudnn", "--commit", "-o"):
        parser.add_argument(name, required=True)
    arguments = parser.parse_args()
    checks = Checks()
    work = pathlib.Path(tempfile.mkdtemp(prefix="sources."))
    try:
        tool = Tool(arguments.tool, work / "home")
        rows = []
        row, imported, built = prebuild(tool, work, "FlashInfer 0.7.2.post1", arguments.flashinfer)
        rows.append(row)
        targets = collections.Counter()
        for catalog in imported["catalogs"]:
            targets.update(catalog["targets"])
        checks.equal("targets", dict(targets), TARGETS)
        checks.equal("manifests refused", len(imported["refused"]), 0)
        checks.equal("manifests skipped", len(imported["skipped"]), 10)
        checks.equal("kernels built", built["kernels"], sum(TARGETS.values()))
        checks.equal("findings in the bundle", tool.run("bundle", "verify", built["bundle"])["findings"], [])
        checks.equal("licences", pathlib.Path(built["licenses"]).read_text(encoding="utf-8").count("Apache License") > 0, True)
        row, imported, built = prebuild(tool, work, "cuDNN frontend 1.28.0", arguments.cudnn, "--manifest", CUDNN_MANIFEST)
        rows.append(row)
        checks.equal("kernels built", built["kernels"], 2)
        write(arguments.o, "sources", arguments.commit, rows)
    finally:
        shutil.rmtree(work)
    return 1 if checks.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
