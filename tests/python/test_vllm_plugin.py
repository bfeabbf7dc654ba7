# SPDX-License-Identifier: Apache-2.0
"""The plug-in, with a stand-in for vLLM's registry: vLLM itself is not installed here."""
import importlib.metadata
import logging
import sys
import types

import pytest

from conftest import ROOT
from cubinet import vllm_plugin


@pytest.fixture
def registered(monkeypatch):
    """The calls of register_backend()."""
    calls = []
    registry = types.ModuleType("vllm.v1.attention.backends.registry")
    registry.AttentionBackendEnum = types.SimpleNamespace(CUSTOM="custom")
    registry.register_backend = lambda *arguments: calls.append(arguments)
    name = ""
    for part in registry.__name__.split("."):
        name = f"{name}.{part}".strip(".")
        monkeypatch.setitem(sys.modules, name, registry if name == registry.__name__ else types.ModuleType(name))
    return calls


def test_a_tested_version_gets_the_backend(monkeypatch, registered):
    for version in (*vllm_plugin.TESTED_VERSIONS, vllm_plugin.TESTED_VERSIONS[0] + "+cu130"):
        monkeypatch.setattr(importlib.metadata, "version", lambda _name, version=version: version)
        assert vllm_plugin.register()
        assert registered.pop() == ("custom", vllm_plugin.BACKEND)


def test_an_untested_version_keeps_its_own_with_a_warning(monkeypatch, registered, caplog):
    monkeypatch.setattr(importlib.metadata, "version", lambda _name: "0.99.0")
    with caplog.at_level(logging.WARNING, logger="cubinet"):
        assert not vllm_plugin.register()
    assert registered == []
    assert "vLLM 0.99.0 keeps its own attention backends" in caplog.text


def test_the_wheel_has_the_entry_point():
    text = (ROOT / "pyproject.toml").read_text()
    assert '[project.entry-points."vllm.general_plugins"]\ncubinet = "cubinet.vllm_plugin:register"' in text
    module, name = vllm_plugin.BACKEND.rsplit(".", 1)
    assert f"class {name}(" in (ROOT / f"python/{module.replace('.', '/')}.py").read_text()
