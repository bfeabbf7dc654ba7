# SPDX-License-Identifier: Apache-2.0
"""The functions by tvm-ffi's calling convention, called through tvm-ffi over the stub driver.

The tests run with the version that is installed. CUBINET_TEST_OLD_TVM_FFI names the folder of an
older version, with which the last test runs them again.
"""
import gc
import os
import subprocess
import sys
import threading
import time

import pytest

tvm_ffi = pytest.importorskip("tvm_ffi")

import cubinet.tvm_ffi  # noqa: E402
from dlpack_tensor import DlpackTensor as Tensor  # noqa: E402

PAGES = 16
BATCH = 3


@pytest.fixture(scope="module")
def functions():
    return cubinet.tvm_ffi.load_module()


@pytest.fixture
def runtime(functions, stub, environment, shared_home):
    number = cubinet.tvm_ffi.open_runtime(functions, home=shared_home, driver=stub.path, environment=environment)
    yield number
    functions.cubinet_close(number)


def flash(runtime, /, **changed):
    """The arguments of cubinet_flash_attn_with_kvcache, which their callers keep by their names."""
    given = {
        "runtime": runtime,
        "q": Tensor((BATCH, 1, 32, 128)),
        "k_cache": Tensor((50, 64, 8, 128)),
        "v_cache": Tensor((50, 64, 8, 128)),
        "k": None,
        "v": None,
        "rotary_cos_sin": None,
        "cache_seqlens": Tensor((BATCH,), "int32"),
        "block_table": Tensor((BATCH, PAGES), "int32"),
        "s_aux": None,
        "softmax_scale": None,
        "causal": True,
        "window_left": -1,
        "window_right": -1,
        "softcap": 0.0,
        "rotary_interleaved": True,
        "num_splits": 0,
        "q_rotated": None,
        "out": Tensor((BATCH, 1, 32, 128)),
        "softmax_lse": None,
    }
    assert set(changed) <= set(given)
    return given | changed


def trtllm(runtime, /, **changed):
    given = {
        "runtime": runtime,
        "query": Tensor((BATCH, 32, 128)),
        "k_cache": Tensor((50, 8, 64, 128)),
        "v_cache": Tensor((50, 8, 64, 128)),
        "workspace_buffer": None,
        "counter_buffer": None,
        "block_tables": Tensor((BATCH, PAGES), "int32"),
        "seq_lens": Tensor((BATCH,), "int32"),
        "max_seq_len": 1000,
        "bmm1_scale": 0.1,
        "bmm2_scale": 1.0,
        "window_left": -1,
        "kv_layout": "HND",
        "enable_pdl": False,
        "max_q_len": 1,
        "cum_seq_lens_q": None,
        "sinks": None,
        "out": Tensor((BATCH, 32, 128)),
        "lse": None,
    }
    assert set(changed) <= set(given)
    return given | changed


def kernels(stub):
    return [launch.kernel.decode() for launch in stub.launches()]


def test_a_decode_step_is_launched_on_the_stream_of_tvm_ffi(functions, runtime, stub):
    given = flash(runtime)
    functions.cubinet_flash_attn_with_kvcache(*given.values())
    assert kernels(stub)[0].startswith("attention")
    stream = stub.make_stream()
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), stream):
        functions.cubinet_flash_attn_with_kvcache(*given.values())
    streams = [launch.stream for launch in stub.launches()]
    assert streams == [None] * (len(streams) // 2) + [stream] * (len(streams) // 2)


def test_tensors_of_tvm_ffi_and_of_other_libraries_are_taken(functions, runtime, stub):
    given = flash(runtime)
    owned = {name: tvm_ffi.from_dlpack(value) if isinstance(value, Tensor) else value for name, value in given.items()}
    functions.cubinet_flash_attn_with_kvcache(*given.values())
    functions.cubinet_flash_attn_with_kvcache(*owned.values())
    launches = stub.launches()
    first, second = launches[: len(launches) // 2], launches[len(launches) // 2 :]
    assert [each.values() for each in first] == [each.values() for each in second]


def test_new_tokens_are_appended_and_rotated_first(functions, runtime, stub):
    rows = Tensor((BATCH, 1, 8, 128))
    given = flash(runtime, k=rows, v=rows)
    functions.cubinet_flash_attn_with_kvcache(*given.values())
    assert kernels(stub)[0].startswith("attention_append")
    before = len(stub.launches())
    given |= {"rotary_cos_sin": Tensor((PAGES * 64, 64), "float32"), "q_rotated": Tensor((BATCH, 1, 32, 128))}
    functions.cubinet_flash_attn_with_kvcache(*given.values())
    assert kernels(stub)[before].startswith("attention_append")


def test_options_reach_the_plan(functions, runtime, stub):
    options = {
        "q": Tensor((BATCH, 2, 32, 128)),
        "out": Tensor((BATCH, 2, 32, 128)),
        "s_aux": Tensor((32,), "float32"),
        "softmax_scale": 0.5,
        "window_left": 100,
        "window_right": 0,
        "softcap": 30.0,
        "softmax_lse": Tensor((BATCH, 2, 32), "float32"),
    }
    blocks = []
    for splits in (1, 4):
        before = len(stub.launches())
        given = flash(runtime, num_splits=splits, **options)
        functions.cubinet_flash_attn_with_kvcache(*given.values())
        grid = stub.launches()[before].grid
        blocks.append(grid[0] * grid[1] * grid[2])
    assert blocks[1] == 4 * blocks[0]


def test_the_call_of_flashinfer_takes_both_layouts_and_ragged_queries(functions, runtime, stub):
    nhd = Tensor((50, 64, 8, 128))
    cases = [
        trtllm(runtime),
        trtllm(runtime, kv_layout="NHD", k_cache=nhd, v_cache=nhd),
        trtllm(runtime, query=Tensor((2 * BATCH, 32, 128)), out=Tensor((2 * BATCH, 32, 128)), max_q_len=2,
               lse=Tensor((2 * BATCH, 32), "float32")),
        trtllm(runtime, query=Tensor((5, 32, 128)), out=Tensor((5, 32, 128)), max_q_len=3,
               cum_seq_lens_q=Tensor((BATCH + 1,), "int32"), sinks=Tensor((32,), "float32")),
        trtllm(runtime, bmm1_scale=Tensor((1,), "float32"), bmm2_scale=Tensor((1,), "float32"), window_left=63,
               enable_pdl=True),
        trtllm(runtime, workspace_buffer=Tensor((1 << 26,), "uint8"), counter_buffer=Tensor((1 << 20,), "uint8")),
    ]
    for given in cases:
        before = len(stub.launches())
        functions.cubinet_trtllm_batch_decode_with_kv_cache(*given.values())
        assert len(stub.launches()) > before


def test_a_workspace_is_made_once_for_a_stream(functions, runtime, stub):
    given = flash(runtime)
    functions.cubinet_flash_attn_with_kvcache(*given.values())
    live = stub.live("memory")
    for _ in range(3):
        functions.cubinet_flash_attn_with_kvcache(*given.values())
    assert stub.live("memory") == live


FLASH_ERRORS = [
    ({"q": 5}, ValueError, r"'q' \(argument 2\) is an integer; pass a tensor"),
    ({"q": None}, ValueError, "'q' .* is None"),
    ({"q": Tensor((BATCH, 32, 128))}, ValueError, r"'q' has the shape \[3, 32, 128\]; expected \[batch, q_len"),
    ({"q": Tensor((BATCH, 1, 32, 64))}, ValueError, r"'k_cache' has the shape .*head_dim=64"),
    ({"q": Tensor((BATCH, 1, 32, 128), device=(1, 0))}, ValueError, "'q' is in host memory"),
    ({"q": Tensor((0, 1, 32, 128))}, ValueError, "batch"),
    ({"k_cache": Tensor((50, 64, 8, 128), device=(2, 1))}, ValueError, "'k_cache' is on device 1"),
    ({"k_cache": Tensor((50, 60, 8, 128))}, (ValueError, RuntimeError), "page"),
    ({"k": Tensor((BATCH, 1, 8, 128))}, ValueError, "one of 'k' and 'v' is None"),
    ({"rotary_cos_sin": Tensor((9, 64), "float32")}, ValueError, "'k' is None"),
    ({"cache_seqlens": Tensor((BATCH + 1,), "int32")}, ValueError, r"'cache_seqlens' has the shape \[4\]"),
    ({"cache_seqlens": Tensor((BATCH,), "float32")}, ValueError, "'cache_seqlens' has elements of type fp32"),
    ({"block_table": Tensor((BATCH + 1, PAGES), "int32")}, ValueError, "'block_table' has the shape"),
    ({"block_table": Tensor((BATCH, PAGES), "int32", strides=(0, 1))}, ValueError, "'block_table' has rows that overlap"),
    ({"s_aux": Tensor((32,))}, ValueError, "'s_aux' has elements of type bf16"),
    ({"softmax_scale": "big"}, ValueError, "'softmax_scale' .* is a text"),
    ({"causal": None}, ValueError, "'causal' .* is None"),
    ({"window_left": 1 << 40}, ValueError, "'window_left' is 1099511627776"),
    ({"num_splits": -1}, ValueError, "'num_splits' is -1"),
    ({"out": Tensor((BATCH, 1, 32, 128), "float64")}, ValueError, "'out' has elements of type float64"),
    ({"out": Tensor((BATCH, 1, 32, 128), strides=(0, 0, 0, 1))}, ValueError, "'out' repeats one row"),
    ({"q_rotated": Tensor((BATCH, 1, 32, 128))}, ValueError, "one of 'rotary_cos_sin' and 'q_rotated'"),
    ({"softmax_lse": Tensor((BATCH, 32), "float16")}, ValueError, "'softmax_lse' has elements of type fp16"),
    ({"runtime": 1 << 40}, ValueError, "'runtime' is 1099511627776, which is no open runtime"),
    ({"runtime": "1"}, ValueError, "'runtime' .* is a text"),
]


@pytest.mark.parametrize(("changed", "kind", "message"), FLASH_ERRORS)
def test_a_wrong_argument_is_an_error_that_names_it(functions, runtime, stub, changed, kind, message):
    given = flash(runtime, **changed)
    with pytest.raises(kind, match=message):
        functions.cubinet_flash_attn_with_kvcache(*given.values())
    assert stub.launches() == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kv_layout": "HDN"}, "'kv_layout' is 'HDN'"),
        ({"max_q_len": 0}, "'max_q_len' is 0"),
        ({"max_seq_len": -5}, "'max_seq_len' is -5"),
        ({"max_q_len": 2}, r"'query' has the shape \[3, 32, 128\] for 3 sequences of 2 tokens"),
        ({"out": Tensor((BATCH + 1, 32, 128))}, "'out' has the shape"),
        ({"workspace_buffer": Tensor((1 << 20,), "uint8")}, "one of 'workspace_buffer' and 'counter_buffer' is None"),
        ({"workspace_buffer": Tensor((8,), "uint8"), "counter_buffer": Tensor((8,), "uint8")}, "scratch|counters"),
        ({"bmm1_scale": Tensor((1,), "float32")}, "'bmm2_scale' .* is a number"),
        ({"sinks": Tensor((31,), "float32")}, r"'sinks' has the shape \[31\]"),
        ({"block_tables": Tensor((BATCH, 2), "int32")}, "'block_tables' has the shape"),
    ],
)
def test_a_wrong_argument_of_flashinfers_call_is_an_error(functions, runtime, stub, changed, message):
    given = trtllm(runtime, **changed)
    with pytest.raises(ValueError, match=message):
        functions.cubinet_trtllm_batch_decode_with_kv_cache(*given.values())
    assert stub.launches() == []


def test_an_error_of_the_driver_has_its_code(functions, runtime, stub):
    given = flash(runtime)
    functions.cubinet_flash_attn_with_kvcache(*given.values())
    stub.fail("cuLaunchKernelEx", 700)
    with pytest.raises(RuntimeError, match="cubinet_flash_attn_with_kvcache: driver: .*CUDA_ERROR_ILLEGAL_ADDRESS"):
        functions.cubinet_flash_attn_with_kvcache(*given.values())
    functions.cubinet_flash_attn_with_kvcache(*given.values())


def test_a_closed_runtime_releases_its_kernels(functions, stub, environment, shared_home):
    number = cubinet.tvm_ffi.open_runtime(functions, home=shared_home, driver=stub.path, environment=environment)
    given = flash(number)
    functions.cubinet_flash_attn_with_kvcache(*given.values())
    assert stub.live("image") > 0
    functions.cubinet_close(number)
    gc.collect()
    assert stub.live("image") == 0
    with pytest.raises(ValueError, match="which is no open runtime"):
        functions.cubinet_flash_attn_with_kvcache(*given.values())
    with pytest.raises(ValueError, match="which is no open runtime"):
        functions.cubinet_close(number)


def test_a_configuration_that_is_wrong_opens_nothing(functions, environment):
    with pytest.raises(ValueError, match="no option `hom`"):
        functions.cubinet_open("hom", "/x")
    with pytest.raises(ValueError, match="the number of arguments is odd"):
        functions.cubinet_open("home")
    with pytest.raises(ValueError, match=r"'option' \(argument 1\) is an integer"):
        functions.cubinet_open(1, 2)
    with pytest.raises(ValueError, match="CUBINET_COMPILE"):
        cubinet.tvm_ffi.open_runtime(functions, environment=environment | {"CUBINET_COMPILE": "no"})


def test_a_forked_child_knows_no_runtime_of_its_parent_and_may_open_its_own(functions, runtime, environment, tmp_path):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            functions.cubinet_close(runtime)
        except ValueError:
            own = cubinet.tvm_ffi.open_runtime(functions, home=tmp_path / "child", environment=environment)
            functions.cubinet_close(own)
            status = 0 if own != runtime else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_that_call_while_runtimes_open_and_close_get_a_result_or_an_error(functions, stub, environment, shared_home):
    numbers, done, failures = [0], threading.Event(), []

    def call(width):
        given = flash(0, block_table=Tensor((BATCH, width), "int32"))
        while not done.is_set():
            try:
                functions.cubinet_flash_attn_with_kvcache(numbers[0], *list(given.values())[1:])
            except ValueError as error:
                if "no open runtime" not in str(error):
                    failures.append(error)

    threads = [threading.Thread(target=call, args=(PAGES + index % 3,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        numbers[0] = cubinet.tvm_ffi.open_runtime(functions, home=shared_home, driver=stub.path, environment=environment)
        time.sleep(0.03)
        functions.cubinet_close(numbers[0])
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert stub.live("image") == 0


def test_the_functions_work_with_the_oldest_version():
    old = os.environ.get("CUBINET_TEST_OLD_TVM_FFI")
    if old is None:
        pytest.skip("CUBINET_TEST_OLD_TVM_FFI names no folder")
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([old, os.environ.get("PYTHONPATH", "")]))
    del environment["CUBINET_TEST_OLD_TVM_FFI"]
    code = "import tvm_ffi; print(tvm_ffi.__version__)"
    version = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert version.stdout.strip() == "0.1.11"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
