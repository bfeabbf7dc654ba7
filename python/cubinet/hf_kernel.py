# SPDX-License-Identifier: Apache-2.0
"""Writes a Hugging Face kernel folder, through which transformers calls cubinet.flash_attn."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from cubinet.configuration import PathLike
from cubinet.errors import Error, InvalidArgument, IoError

NAME = "cubinet/flash-attn2"
"""What transformers' `attn_implementation` is called. transformers calls a block table's function only
of kernels whose name ends like FlashAttention 2's."""

SUMMARY = "Writes a Hugging Face kernel folder with cubinet's FlashAttention functions"

# Without a native library the folder fits every PyTorch with CUDA: the variant has no version.
_variant = Path("build/torch-cuda")

_module = '''\
# SPDX-License-Identifier: {license}
"""FlashAttention's functions by the kernels of cubinet, whose package must be installed."""

from cubinet.flash_attn import flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache

__all__ = ["flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache"]
'''

_metadata = {
    "id": "_cubinet_flash_attn2_cuda",
    "name": "cubinet-flash-attn2",
    "version": 1,
    "license": "Apache-2.0",
    "python-depends": [],
    "backend": {"type": "cuda"},
}


def write_hf_kernel(folder: PathLike) -> str:
    """Writes the kernel folder, and returns the value of LOCAL_KERNELS with which transformers finds it.

    The folder may exist if it is empty or was written by this function. Raises InvalidArgument
    otherwise, and IoError if it cannot be written.
    """
    place = Path(os.fsdecode(folder)).absolute()
    if set(str(place)) & {":", "="}:
        raise InvalidArgument(f"the path {str(place)!r} has a ':' or '=', which LOCAL_KERNELS cannot express",
                              "choose another folder")
    files = {_variant / "__init__.py": _module.format(license=_metadata["license"]), _variant / "metadata.json": json.dumps(_metadata, indent=2) + "\n"}
    try:
        if place.exists() and any(place.iterdir()) and not (place / _variant / "metadata.json").exists():
            raise InvalidArgument(f"the folder {str(place)!r} has other files", "choose a new folder")
        (place / _variant).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            partial = place / name.with_suffix(".partial")
            partial.write_text(text, encoding="utf-8")
            partial.replace(place / name)
    except OSError as error:
        raise IoError(f"cannot write the kernel folder {str(place)!r}: {error.strerror}", "choose a writable folder",
                      native=error.errno or 0) from error
    return f"{NAME}={place}"


def main(words: list[str]) -> int:
    """Runs `cubinet hf-kernel`. Returns the exit status of the command."""
    parser = argparse.ArgumentParser(prog="cubinet hf-kernel", description=SUMMARY + ".")
    parser.add_argument("folder", metavar="DIR", help="the folder to write")
    given = parser.parse_args(words)
    try:
        found = write_hf_kernel(given.folder)
    except Error as error:
        print(f"cubinet: {error}", file=sys.stderr)
        return 2 if isinstance(error, InvalidArgument) else 3
    print(f"export LOCAL_KERNELS={found}\n# then: AutoModelForCausalLM.from_pretrained(…, attn_implementation={NAME!r})")
    return 0
