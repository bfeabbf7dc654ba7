# SPDX-License-Identifier: Apache-2.0
"""The plug-in of vLLM: `vllm serve MODEL --attention-backend CUSTOM`.

vLLM calls register() through the entry point `vllm.general_plugins`. Versions of vLLM that this plug-in
was not tested with keep their own backends, with a warning: its interface changes between versions.
"""

from __future__ import annotations

import importlib.metadata
import logging

TESTED_VERSIONS = ("0.26.0",)

BACKEND = "cubinet.vllm_backend.CubinetBackend"


def register() -> bool:
    """Makes CubinetBackend vLLM's CUSTOM attention backend. Returns whether it did."""
    version = importlib.metadata.version("vllm").split("+")[0]
    if version not in TESTED_VERSIONS:
        logging.getLogger("cubinet").warning(
            "vLLM %s keeps its own attention backends: cubinet was tested with %s", version, ", ".join(TESTED_VERSIONS)
        )
        return False
    from vllm.v1.attention.backends.registry import AttentionBackendEnum, register_backend

    register_backend(AttentionBackendEnum.CUSTOM, BACKEND)
    return True
