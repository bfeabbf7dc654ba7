#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs FlashInfer's own download of all cubins, unmodified, without torch and without a GPU.

Usage: flashinfer_download.py PACKAGE pins      prints `<SHA-256>  <folder>/checksums.txt` of what it pins
       flashinfer_download.py PACKAGE download  downloads, as FLASHINFER_CUBINS_REPOSITORY and FLASHINFER_CUBIN_DIR say

PACKAGE is the folder `flashinfer` of an unpacked flashinfer-python. Of it artifacts.py, jit/cubin_loader.py, jit/env.py and what
these include are run as they are; `torch` and `jit.core`, which only say what devices are here and where to log, stand in.
Needs requests, filelock and tqdm. Ends with 1 where FlashInfer's own check of the digests does not pass.
"""
import logging
import os
import sys
import time
import types
from pathlib import Path


def stand_in(name, **members):
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module
    return module


def load_artifacts(package):
    # The packages' own __init__.py would import every kernel.
    stand_in("flashinfer", __path__=[str(package)])
    stand_in("flashinfer.jit", __path__=[str(package / "jit")])
    logger = logging.getLogger("flashinfer.jit")
    stand_in("flashinfer.jit.core", logger=logger)
    stand_in("torch")
    logging.getLogger("flashinfer.artifacts").setLevel(logging.WARNING)
    os.environ.setdefault("FLASHINFER_CUDA_ARCH_LIST", "9.0a")
    os.environ.setdefault("FLASHINFER_LOGGING_LEVEL", "WARNING")
    from flashinfer import artifacts

    return artifacts


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("pins", "download"):
        sys.exit(__doc__)
    artifacts = load_artifacts(Path(sys.argv[1]).resolve())
    if sys.argv[2] == "pins":
        cpu = artifacts._get_host_cpu_arch()
        for name, digest in artifacts.CheckSumHash.map_checksums.items():
            # Excludes the files of the other processor, which are not in the package of cubins.
            if "/cute-dsl/" not in name or f"/{cpu}/" in name:
                print(f"{digest}  {name}")
        return
    begin = time.monotonic()
    artifacts.download_artifacts()
    seconds = time.monotonic() - begin
    files = [path for path in Path(artifacts.FLASHINFER_CUBIN_DIR).rglob("*") if path.is_file()]
    arrived = [path for path in files if path.suffix != ".lock"]
    size = sum(path.stat().st_size for path in arrived)
    print(f"FlashInfer downloaded {len(arrived)} files, {size} bytes, in {seconds:.1f} s, and its check passed")
    missing = [name for name, there in artifacts.get_artifacts_status() if not there]
    if missing:
        sys.exit(f"of these {len(missing)} are not there, the first {missing[0]}")


main()
