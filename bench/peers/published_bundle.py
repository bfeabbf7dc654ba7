#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The attention cubins of the published package flashinfer-cubin 0.6.13 as one bundle on a registry: its size and what packing
takes, and what nodes take of it. Run by scripts/bundle_published.sh."""
import argparse
import json
import pathlib
import resource
import shutil
import time

from published_import import Checks, Tool
from rounds import write

IMAGES = 13452
WHEEL_BYTES = 458_000_000  # of all folders, as PyPI sends it
DEVICE = ("--device", "10.3", "--sm-count", "148")
ROUNDS = 5


class Timed:
    """Wall and processor seconds of what runs within, children included."""

    def __enter__(self):
        self.before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.start = time.perf_counter()
        return self

    def __exit__(self, *_):
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seconds = time.perf_counter() - self.start
        self.core_seconds = after.ru_utime + after.ru_stime - self.before.ru_utime - self.before.ru_stime


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    parser = argparse.ArgumentParser()
    for name in ("--tool", "--folder", "--work", "--server", "--commit", "-o"):
        parser.add_argument(name, required=True)
    arguments = parser.parse_args()
    work = pathlib.Path(arguments.work)
    checks = Checks()
    maker = Tool(arguments.tool, work / "maker")
    folders = sorted(path.parent.parent for path in pathlib.Path(arguments.folder).glob("*/fmha/trtllm-gen/include"))
    folders = [path / "trtllm-gen" for path in folders]
    sources = [cubin for folder in folders for cubin in folder.rglob("*.cubin")]
    image_bytes = sum(cubin.stat().st_size for cubin in sources)
    checks.equal("images", len(sources), IMAGES)
    for folder in folders:
        maker.run("import-artifacts", folder)

    rows = []
    bundle = work / "all.bundle"
    for profile, goal in (("ship", 0.135), ("archive", 0.105)):
        bundle.unlink(missing_ok=True)
        with Timed() as packing:
            maker.run("bundle", "create", "--imports", "--profile", profile, "--channel", "stable", "-o", bundle)
        size = bundle.stat().st_size / image_bytes
        rows.append({"name": f"packing, {profile}", "unit": "s",
                     "median": {"core-seconds": packing.core_seconds, "seconds": packing.seconds,
                                "bytes": bundle.stat().st_size, "bytes of images": image_bytes},
                     "ratios": {"size : images": {"median": size, "goal": goal, "met": size <= goal},
                                "core-seconds : 720": {"median": packing.core_seconds / 720, "goal": 1,
                                                       "met": packing.core_seconds <= 720}}})
        print(f"     {profile}: {bundle.stat().st_size} bytes, {size:.4f} of the images, {packing.core_seconds:.0f} core-seconds, "
              f"{packing.seconds:.0f} s", flush=True)
        if profile == "ship":
            shutil.copy(bundle, work / "ship.bundle")

    reference = f"oci://{arguments.server}/published/fmha:stable"
    open_server = ("--plain-http", arguments.server)
    with Timed() as push:
        maker.run("push", work / "ship.bundle", reference, *open_server)
    print(f"     pushed in {push.seconds:.1f} s", flush=True)

    def pull(*more):
        home = work / "node"
        shutil.rmtree(home, ignore_errors=True)
        node = Tool(arguments.tool, home)
        with Timed() as took:
            document = node.run("pull", reference, *open_server, *more)
        return node, document, took

    shapes = ("--problems", pathlib.Path(__file__).resolve().parent.parent / "sweeps/published_shapes.txt")
    parts = [pull(*DEVICE, *shapes) for _ in range(ROUNDS)]
    node, document, _ = parts[-1]
    checks.equal("problems that nothing serves", len(document["unserved"]), 0)
    checks.equal("findings in the home", len(node.run("registry", "verify")["findings"]), 0)
    print("    ", json.dumps({name: value for name, value in document.items() if name != "unserved"}), flush=True)
    part = {"kernels": document["kernels"], "seconds": median([took.seconds for _, _, took in parts])}
    for name in ("bytes", "downloaded", "bytes_pulled"):
        if name in document:
            part[name] = document[name]
    rows.append({"name": "pull of what select names for DeepSeek-V3 and Llama-3-70B on 10.3", "unit": "s", "median": part})
    whole = [pull("-o", work / "pulled.bundle") for _ in range(2)]
    rows.append({"name": "pull of the whole bundle", "unit": "s",
                 "median": {"bytes": (work / "pulled.bundle").stat().st_size, "bytes of the wheel": WHEEL_BYTES,
                            "seconds": min(took.seconds for _, _, took in whole)}})
    for row in rows[2:]:
        print("    ", row["name"], row["median"], flush=True)
    write(arguments.o, "published_bundle", arguments.commit, rows)
    return 1 if checks.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
