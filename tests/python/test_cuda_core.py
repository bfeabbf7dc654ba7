# SPDX-License-Identifier: Apache-2.0
"""The cache of cuda.core's programs. cuda.core compiles without a driver."""
import hashlib
import multiprocessing
import os
import threading
import time

import pytest

import cubinet

pytest.importorskip("cuda.core")

from cuda.core import Program, ProgramOptions  # noqa: E402
from cuda.core.utils import make_program_cache_key  # noqa: E402

from cubinet.cuda_core import ProgramCache, extra_digest  # noqa: E402

SOURCE = 'extern "C" __global__ void k(int* a) { *a = 1; }'


@pytest.fixture(scope="module")
def cubin():
    return bytes(Program(SOURCE, "c++", options=ProgramOptions(arch="sm_90a")).compile("cubin").code)


@pytest.fixture
def cache(tmp_path):
    with ProgramCache(tmp_path / "home") as cache:
        yield cache


def test_a_program_is_compiled_once_and_then_found(cache, tmp_path, cubin):
    for _ in range(2):
        program = Program(SOURCE, "c++", options=ProgramOptions(arch="sm_90a"))
        assert bytes(program.compile("cubin", cache=cache).code) == cubin
        assert len(cache) == 1
    with ProgramCache(tmp_path / "home") as other:
        assert bytes(program.compile("cubin", cache=other).code) == cubin


def test_the_end_of_a_thread_that_found_nothing_gives_its_key_to_others(tmp_path):
    with ProgramCache(tmp_path / "home", wait_seconds=60) as cache:
        thread = threading.Thread(target=lambda: cache.get("a"))
        thread.start()
        thread.join()
        begin = time.monotonic()
        assert cache.get("a") is None
        assert time.monotonic() - begin < 30


def test_entries_are_set_replaced_and_deleted_by_text_or_bytes(cache, cubin):
    ptx = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f() { ret; }\n"
    with pytest.raises(KeyError):
        cache["a"]
    assert cache.get("a") is None
    cache["a"] = cubin
    assert cache[b"a"] == cubin
    cache["b"] = memoryview(ptx)
    assert cache["b"] == ptx
    assert len(cache) == 2
    assert "a" in cache
    assert b"b" in cache
    assert "c" not in cache
    assert 7 not in cache
    cache["a"] = ptx
    assert cache["a"] == ptx
    del cache["a"]
    for call in (lambda: cache["a"], lambda: cache.__delitem__("a")):
        with pytest.raises(KeyError):
            call()
    cache.update({"c": cubin})
    cache.clear()
    assert len(cache) == 0


def test_clear_keeps_other_kernels_of_the_home(cache, tmp_path, cubin, environment):
    with cubinet.Runtime(home=tmp_path / "home", environment=environment) as runtime:
        runtime.kernel_from_image("mine", cubin)
        cache["a"] = cubin
        cache.clear()
        assert runtime.stored_kernel("mine").image("sm_90a") == cubin


def test_what_no_driver_loads_is_refused(cache):
    for wrong in (b"", b"text", b"\xed\x43 LTO-IR"):
        with pytest.raises(cubinet.InvalidArgument):
            cache["a"] = wrong
    assert len(cache) == 0
    for wrong in (7, None):
        with pytest.raises(TypeError):
            cache["a"] = wrong
        with pytest.raises(TypeError):
            cache[wrong]


def test_a_flipped_byte_is_a_miss_and_the_program_is_stored_again(tmp_path, cubin):
    with ProgramCache(tmp_path / "home") as cache:
        cache["a"] = cubin
    images = [path for path in (tmp_path / "home").rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert len(images) == 1
    for place in (0, len(cubin) // 2, len(cubin) - 1):
        images[0].chmod(0o600)
        images[0].write_bytes(cubin[:place] + bytes([cubin[place] ^ 1]) + cubin[place + 1 :])
        with ProgramCache(tmp_path / "home") as cache:
            assert cache.get("a") is None
            cache["a"] = cubin
            assert cache["a"] == cubin


def compile_once(home, compiled, results):
    with ProgramCache(home) as cache:
        image = cache.get("key")
        if image is None:
            with compiled.get_lock():
                compiled.value += 1
            image = bytes(Program(SOURCE, "c++", options=ProgramOptions(arch="sm_90a")).compile("cubin").code)
            time.sleep(0.2)
            cache["key"] = image
        results.put(hashlib.sha256(image).hexdigest())


def test_32_processes_that_miss_one_key_compile_it_once(tmp_path, cubin):
    context = multiprocessing.get_context("spawn")
    compiled, results = context.Value("i", 0), context.Queue()
    processes = [context.Process(target=compile_once, args=(tmp_path / "home", compiled, results)) for _ in range(32)]
    for process in processes:
        process.start()
    found = [results.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    assert compiled.value == 1
    assert set(found) == {hashlib.sha256(cubin).hexdigest()}


def test_a_compilation_that_fails_frees_the_key(tmp_path, cubin):
    with ProgramCache(tmp_path / "home") as cache, ProgramCache(tmp_path / "home", wait_seconds=30) as other:
        assert cache.get("a") is None  # and its compilation fails
        assert cache.get("b") is None
        begin = time.monotonic()
        assert other.get("a") is None
        assert time.monotonic() - begin < 10
    with ProgramCache(tmp_path / "home") as cache, ProgramCache(tmp_path / "home", wait_seconds=0.1) as impatient:
        assert cache.get("a") is None
        missed = []
        thread = threading.Thread(target=lambda: missed.append(impatient.get("a")))
        thread.start()
        thread.join(10)
        assert missed == [None]


def key_of(source, folder):
    options = ProgramOptions(arch="sm_90a", include_path=str(folder))
    return make_program_cache_key(code=source, code_type="c++", options=options, target_type="cubin",
                                  extra_digest=extra_digest(source, folder))


def test_a_changed_header_is_another_key(tmp_path):
    source = '#include "first.h"\n' + SOURCE
    (tmp_path / "deep").mkdir()
    (tmp_path / "first.h").write_text('#  include <deep/second.h> // and more\n#ifdef NEVER\n#include "absent.h"\n#endif\n')
    (tmp_path / "deep/second.h").write_text('#include "third.h"\n')
    (tmp_path / "deep/third.h").write_text("#define THIRD 3\n")
    keys = [key_of(source, tmp_path)]
    assert keys[0] == key_of(source, tmp_path)
    (tmp_path / "deep/third.h").write_text("#define THIRD 4\n")
    keys.append(key_of(source, tmp_path))
    (tmp_path / "absent.h").write_text("\n")
    keys.append(key_of(source, tmp_path))
    (tmp_path / "deep/absent.h").write_text("\n")  # hides nothing that is included
    assert key_of(source, tmp_path) == keys[-1]
    os.unlink(tmp_path / "deep/third.h")
    keys.append(key_of(source, tmp_path))
    assert len(set(keys)) == len(keys)
    assert extra_digest("", tmp_path, pre_include=["first.h"]) == extra_digest('#include "first.h"', tmp_path)
    assert extra_digest("#if __has_include(<first.h>)\n", tmp_path) != extra_digest("", tmp_path)


@pytest.mark.parametrize(
    "directive",
    [
        '/* a */ #include "first.h"',
        '/* a\n b */#include "first.h"',
        '#/* a */include/* b */"first.h"',
        '%:include "first.h"',
        '\v#\finclude "first.h"',
        '#inc\\\r\nlude "first.h"',
        "#if __has_include /* a */ (<first.h>)",
    ],
)
def test_a_directive_in_another_form_is_found(tmp_path, directive):
    before = extra_digest(directive, tmp_path)
    (tmp_path / "first.h").write_text("#define FIRST 1\n")
    assert extra_digest(directive, tmp_path) != before
    assert extra_digest('// #include "first.h"\n', tmp_path) == extra_digest("", tmp_path)


def test_an_empty_home_is_refused():
    with pytest.raises(cubinet.InvalidArgument, match="'home'"):
        ProgramCache("")


def test_a_name_that_only_the_preprocessor_knows_is_refused(tmp_path):
    with pytest.raises(cubinet.Unsupported, match="HEADER"):
        extra_digest("#define HEADER <a.h>\n#include HEADER\n", tmp_path)
