# SPDX-License-Identifier: Apache-2.0
import json
import os

import pytest

import cubinet
from cubinet.hf_kernel import NAME, write_hf_kernel


def test_a_folder_has_the_module_and_its_metadata(tmp_path):
    assert write_hf_kernel(tmp_path / "kernel") == f"{NAME}={tmp_path / 'kernel'}"
    variant = tmp_path / "kernel/build/torch-cuda"
    metadata = json.loads((variant / "metadata.json").read_text())
    # Hugging Face's `kernels` requires each of these.
    assert {"id", "name", "version", "license", "python-depends", "backend"} <= metadata.keys()
    compile((variant / "__init__.py").read_text(), "__init__.py", "exec")
    assert sorted(path.name for path in variant.iterdir()) == ["__init__.py", "metadata.json"]
    write_hf_kernel(tmp_path / "kernel")


def test_a_folder_of_others_and_a_path_that_cannot_be_named_are_refused(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").write_text("kept")
    with pytest.raises(cubinet.InvalidArgument, match="other' has other files"):
        write_hf_kernel(tmp_path / "other")
    assert os.listdir(tmp_path / "other") == ["file"]
    with pytest.raises(cubinet.InvalidArgument, match="LOCAL_KERNELS"):
        write_hf_kernel(tmp_path / "a:b")
    with pytest.raises(cubinet.IoError, match="cannot write"):
        write_hf_kernel(tmp_path / "other/file")


def test_the_command_writes_the_folder(run_python, tmp_path):
    code = "import sys; sys.argv = ['cubinet', *sys.argv[1:]]\nfrom cubinet.command import main; sys.exit(main())"
    ran = run_python(code, "hf-kernel", str(tmp_path / "kernel"))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert f"export LOCAL_KERNELS={NAME}={tmp_path / 'kernel'}" in ran.stdout
    assert (tmp_path / "kernel/build/torch-cuda/__init__.py").is_file()
    again = run_python(code, "hf-kernel", str(tmp_path))
    assert again.returncode == 2
    assert "has other files" in again.stderr
    assert run_python(code, "hf-kernel").returncode == 2
    assert "hf-kernel DIR" in run_python(code, "--help").stdout
