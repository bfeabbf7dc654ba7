# SPDX-License-Identifier: Apache-2.0
import gc
import pickle
import threading

import pytest

import cubinet
from conftest import AXPY, rounds_during

SOURCE = cubinet.SourceProgram(AXPY, kernels=("axpy<float>",))


def test_a_closed_runtime_refuses_every_call(make_runtime, shared_home):
    runtime = make_runtime(home=shared_home)
    kernel = runtime.kernel(SOURCE)
    runtime.close()
    runtime.close()
    assert runtime.closed
    for call in (
        lambda: runtime.kernel(SOURCE),
        lambda: runtime.kernel("rms_norm", hidden_size=4096),
        lambda: runtime.kernel_from_image("name", b"image"),
        lambda: runtime.stored_kernel("name"),
        runtime.counters,
        runtime.memory,
        runtime.trim,
        kernel.function,
        runtime.stores,
        lambda: kernel.image("sm_90a"),
        lambda: kernel.explain("9.0"),
        kernel.forget,
    ):
        with pytest.raises(cubinet.InvalidArgument, match="the Runtime is closed"):
            call()


def test_a_closed_runtime_keeps_its_functions(make_runtime, shared_home, stub):
    with make_runtime(home=shared_home) as runtime:
        function = runtime.kernel(SOURCE).function()
    function.launch(1.0, None, None, 0, grid=1, block=32)
    assert len(stub.launches()) == 1
    function.close()
    gc.collect()
    assert stub.live("image") == 0


def test_modules_stay_loaded_until_a_trim(make_runtime, shared_home, stub):
    runtime = make_runtime(home=shared_home)
    kernel = runtime.kernel(SOURCE)
    function = kernel.function()
    memory = runtime.memory()
    assert (memory.modules, memory.idle_modules, memory.retired_modules) == (1, 0, 0)
    assert memory.bytes > 0
    assert runtime.trim() == cubinet.Trimmed(0, 0)
    function.close()
    assert runtime.memory(device=0).idle_bytes == memory.bytes
    assert runtime.memory(device=1) == cubinet.Memory(0, 0, 0, 0, 0, 0)
    assert kernel.forget()
    assert runtime.memory().retired_modules == 1
    assert runtime.trim(bytes=0) == cubinet.Trimmed(0, 0)
    assert stub.live("image") == 1
    assert runtime.trim(bytes=1, device=0) == cubinet.Trimmed(1, memory.bytes)
    assert stub.live("image") == 0
    kernel.function().launch(1.0, None, None, 0, grid=1, block=32)
    assert (runtime.forget(1), runtime.forget(0)) == (0, 1)
    assert stub.live("image") == 0
    with pytest.raises(cubinet.InvalidArgument, match="`device` is -2"):
        runtime.trim(device=-2)


def test_a_look_up_of_loaded_kernels_neither_compiles_nor_loads(make_runtime, tmp_path, stub):
    runtime = make_runtime(home=tmp_path / "home")
    kernel = runtime.kernel(SOURCE)
    for _ in range(2):
        with pytest.raises(cubinet.NotFound, match="is not loaded on device 0"):
            kernel.function(loaded=True)
        kernel.image("sm_90a")
    assert stub.live("image") == 0
    function = kernel.function()
    assert kernel.function(loaded=True).describe() == function.describe()


def test_attention_of_loaded_kernels_names_one_that_is_not_loaded(make_runtime, tmp_path, stub):
    runtime = make_runtime(home=tmp_path / "home")
    problem = cubinet.AttentionProblem(batch=2, kv_len=512, heads_q=8, heads_kv=1)
    with pytest.raises(cubinet.NotFound, match=r"attention_decode.* is not loaded on device 0"):
        runtime.attention(problem, loaded_kernels=True)
    assert runtime.counters().compiled == 0
    assert stub.live("image") == 0


def test_a_limit_of_modules_is_an_error_or_a_warning(make_runtime, shared_home):
    source = cubinet.SourceProgram(AXPY, kernels=("axpy<double>",))
    limited = make_runtime(home=shared_home, module_limit=1)
    with pytest.raises(cubinet.Unavailable, match="exceed the limit of 1"):
        limited.kernel(source).function()
    warned = make_runtime(home=shared_home, module_limit=1, module_limit_excess="warning")
    warned.kernel(source).function()


def test_a_block_closes_its_runtime_and_passes_an_error_on(make_runtime, shared_home):
    with pytest.raises(KeyError), make_runtime(home=shared_home) as runtime:
        assert not runtime.closed
        raise KeyError
    assert runtime.closed


def test_a_runtime_shows_whether_it_is_open(make_runtime, shared_home):
    runtime = make_runtime(home=shared_home)
    assert repr(runtime) == "<Runtime open>"
    runtime.close()
    assert repr(runtime) == "<Runtime closed>"


def test_a_runtime_refuses_to_pickle_and_its_configuration_does_not(runtime):
    with pytest.raises(TypeError, match="pickle its configuration"):
        pickle.dumps(runtime)
    assert pickle.loads(pickle.dumps(runtime.configuration)) == runtime.configuration


def test_options_replace_members_of_the_configuration(stub, environment, shared_home):
    configuration = cubinet.Configuration(driver=stub.path, environment=environment, compile="never")
    with cubinet.Runtime(configuration, home=shared_home, compile="on_miss") as runtime:
        assert runtime.configuration.compile == "on_miss"
        assert runtime.configuration.driver == stub.path


def test_a_runtime_names_its_stores_in_order(make_runtime, tmp_path):
    for name in ("site", "home"):
        make_runtime(home=tmp_path / name)
    stores = make_runtime(home=tmp_path / "home", site_homes=tmp_path / "site").stores()
    # A package that was built with kernels searches them behind the homes.
    assert [each["kind"] for each in stores][:3] == ["memory", "home", "home"]
    assert [each["place"] for each in stores][:3] == ["", str(tmp_path / "home"), str(tmp_path / "site")]
    assert [each["writable"] for each in stores][:3] == [True, True, False]
    assert [each["kind"] for each in stores][3:] in ([], ["bundle"])


def test_counters_count_each_source(make_runtime, tmp_path):
    first = make_runtime(home=tmp_path / "home")
    kernel = first.kernel(SOURCE)
    kernel.function()
    kernel.function()
    counters = first.counters()
    assert (counters.compiled, counters.process_hits, counters.registry_hits) == (1, 1, 0)
    assert counters.bytes_loaded > 0
    second = make_runtime(home=tmp_path / "home", compile="never")
    second.kernel(SOURCE).function()
    assert second.counters().registry_hits == 1
    with pytest.raises(cubinet.NotFound):
        second.kernel("rms_norm", hidden_size=64).function()
    assert second.counters().misses == 1


def test_without_a_home_builds_stay_in_memory(make_runtime):
    runtime = make_runtime(home="")
    kernel = runtime.kernel(SOURCE)
    assert kernel.image("sm_90a") == kernel.image("sm_90a")
    assert runtime.counters().compiled == 1


def test_a_read_only_home_is_not_written(make_runtime, tmp_path):
    make_runtime(home=tmp_path / "home")
    runtime = make_runtime(home=cubinet.Home(tmp_path / "home", read_only=True))
    runtime.kernel(SOURCE).image("sm_90a")
    with pytest.raises(cubinet.NotFound):
        make_runtime(home=tmp_path / "home", compile="never").kernel(SOURCE).image("sm_90a")


def test_other_threads_run_while_a_kernel_is_compiled(make_runtime, tmp_path):
    text = "template <int N> __global__ void f(float* y) { y[N] = sinf(y[N]) + powf(y[N], 1.5f); }"
    source = cubinet.SourceProgram(text, kernels=tuple(f"f<{n}>" for n in range(200)))
    kernel = make_runtime(home=tmp_path / "home").kernel(source)
    rounds, seconds = rounds_during(lambda: kernel.image("sm_90a"))
    assert seconds > 0.05
    assert rounds > 5


def test_other_threads_run_while_a_module_is_loaded(stub, runtime):
    kernel = runtime.kernel(SOURCE)
    kernel.image("sm_90a")
    stub.delay("cuLibraryLoadData", 0.2)
    stub.delay("cuModuleLoadDataEx", 0.2)
    stub.delay("cuModuleLoadData", 0.2)
    rounds, seconds = rounds_during(kernel.function)
    assert seconds > 0.15
    assert rounds > 2


def test_other_threads_run_while_a_launch_waits(stub, axpy):
    stub.delay("cuLaunchKernelEx", 0.2)
    rounds, seconds = rounds_during(lambda: axpy.launch(1.0, None, None, 0, grid=1, block=32))
    assert seconds > 0.15
    assert rounds > 2


def test_eight_threads_resolve_and_launch_at_once(make_runtime, tmp_path, stub):
    runtime = make_runtime(home=tmp_path / "home")
    barrier, errors = threading.Barrier(8), []

    def work(number):
        try:
            barrier.wait()
            for _ in range(20):
                source = cubinet.SourceProgram(AXPY, kernels=(f"axpy<{('float', 'double')[number % 2]}>",))
                function = runtime.kernel(source).function()
                for _ in range(10):
                    function.launch(float(number), None, None, number, grid=1, block=32)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(stub.launches()) == 8 * 20 * 10
    assert runtime.counters().compiled == 2


def test_closing_while_others_call_is_an_error_or_a_result(make_runtime, shared_home):
    for _ in range(20):
        runtime = make_runtime(home=shared_home)
        runtime.kernel(SOURCE).function()
        outcomes = []

        def work():
            for _ in range(20):
                try:
                    runtime.kernel(SOURCE).function().launch(1.0, None, None, 0, grid=1, block=32)
                except cubinet.InvalidArgument as error:
                    outcomes.append(str(error))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        runtime.close()
        for thread in threads:
            thread.join()
        assert all("the Runtime is closed" in outcome for outcome in outcomes)
