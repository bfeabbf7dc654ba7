# SPDX-License-Identifier: Apache-2.0
"""Attention: problems, plans, and what a run accepts. Real kernels are loaded by the stub driver."""
import dataclasses
import pickle

import pytest

import cubinet
import exchange
from cubinet import AttentionProblem
from exchange import Tensor

PROBLEM = AttentionProblem(batch=3, kv_len=1000, heads_q=32, heads_kv=8, page_size=64)
PAGES = 16  # of a sequence of 1000 tokens


def tensors(problem=PROBLEM, **changes):
    """The tensors of a run, each at an address of its own."""
    b, h, hk, d, page = problem.batch, problem.heads_q, problem.heads_kv, problem.head_dim_qk, problem.page_size
    shapes = {"q": (b, 1, h, d), "k": (50, page, hk, d), "v": (50, page, hk, d), "o": (b, 1, h, d),
              "page_table": (b, PAGES), "kv_lengths": (b,)}
    types = {"page_table": "int32", "kv_lengths": "int32"}
    made = {name: Tensor(shape, types.get(name, "bfloat16"), (index + 1) << 32)
            for index, (name, shape) in enumerate(shapes.items())}
    return made | changes


@pytest.fixture
def attention(runtime):
    exchange.set_current_stream(0)
    with runtime.attention(PROBLEM) as attention:
        yield attention


@pytest.fixture
def workspace(attention):
    with attention.workspace() as workspace:
        yield workspace


def test_problems_compare_and_pickle():
    assert pickle.loads(pickle.dumps(PROBLEM)) == PROBLEM
    assert hash(dataclasses.replace(PROBLEM)) == hash(PROBLEM)
    assert dataclasses.replace(PROBLEM, batch=4) != PROBLEM
    assert AttentionProblem(batch=2, kv_len=9, heads_q=1, heads_kv=1, kv_lengths=[3, 9]).kv_lengths == (3, 9)
    with pytest.raises(TypeError, match="'kv_lengths'"):
        dataclasses.replace(PROBLEM, kv_lengths=(1, 2, 3.5))


def test_a_plan_needs_no_driver(make_runtime):
    plan = make_runtime(driver="/absent").attention_plan(PROBLEM, "9.0", 132)
    assert plan["backend"] == "templates"
    with pytest.raises(cubinet.InvalidArgument, match="9"):
        make_runtime(driver="/absent").attention_plan(PROBLEM, "9")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 0}, "batch"),
        ({"batch": -1}, "'batch' is -1"),
        ({"heads_q": 30}, "heads"),
        ({"type_kv": "fp8"}, "'type_kv' is \"fp8\".*e4m3"),
        ({"mask": "full"}, "'mask' is \"full\".*causal"),
        ({"kv_order": "ndh"}, "'kv_order'"),
        ({"kv_layout": "packed"}, "'kv_layout' is \"packed\".*sequences"),
        ({"kv_scales": "heads"}, "'kv_scales' is \"heads\".*sequence"),
        ({"numerics": "exact"}, "'numerics' is \"exact\".*invariant"),
        ({"kv_lengths": (1, 2)}, "'kv_lengths' has 2 lengths"),
        ({"kv_lengths": (1, 2, 5000)}, "5000"),
        ({"page_size": 0}, "page"),
    ],
)
def test_a_wrong_problem_is_an_error_that_names_the_member(runtime, change, message):
    with pytest.raises(cubinet.InvalidArgument, match=message):
        runtime.attention(dataclasses.replace(PROBLEM, **change))


@pytest.mark.parametrize("member", [member.name for member in dataclasses.fields(PROBLEM)])
def test_a_member_of_another_type_is_a_type_error_that_names_it(runtime, member):
    with pytest.raises(TypeError, match=f"'{member}'"):
        runtime.attention_plan(dataclasses.replace(PROBLEM, **{member: [None]}))


def test_a_number_that_c_cannot_express_is_refused_by_name(runtime):
    for change in ({"batch": 2**64}, {"kv_len": -(2**63) - 1}, {"soft_cap": 10**400}, {"kv_lengths": (1, 2, 2**40)},
                   {"mask": "\ud800"}):
        with pytest.raises(cubinet.InvalidArgument, match=f"'{next(iter(change))}'"):
            runtime.attention_plan(dataclasses.replace(PROBLEM, **change))


def test_invariant_numerics_choose_other_kernels(runtime):
    fast = runtime.attention_plan(PROBLEM, "9.0")
    assert fast != runtime.attention_plan(dataclasses.replace(PROBLEM, numerics="invariant"), "9.0")
    assert fast == runtime.attention_plan(dataclasses.replace(PROBLEM, numerics="fast"), "9.0")


def test_options_of_a_plan_are_members_of_plan_options(runtime):
    assert runtime.attention_plan(PROBLEM, "9.0", splits=2)
    with pytest.raises(TypeError, match="split"):
        runtime.attention_plan(PROBLEM, "9.0", split=2)
    assert runtime.attention_plan(PROBLEM, "9.0", rules="0.6.17")
    for option in ("backend", "existing_kernels", "rules", "splits"):
        with pytest.raises(TypeError, match=f"'{option}'"):
            runtime.attention_plan(PROBLEM, "9.0", **{option: 1.5})
    with pytest.raises(cubinet.Error, match="nobody"):
        runtime.attention_plan(PROBLEM, "9.0", backend="nobody")


def test_a_run_launches_the_steps_of_its_plan(stub, attention, workspace):
    before = len(stub.launches())
    attention.run(**tensors(), workspace=workspace)
    assert len(stub.launches()) - before == attention.info["steps"]


SHARED = dataclasses.replace(PROBLEM, prefix_groups=2, prefix_len=4000)


def shared_tensors(**changes):
    made = {"prefix_page_table": Tensor((2, 63), "int32", 20 << 32), "prefix_lengths": Tensor((2,), "int32", 21 << 32),
            "group_offsets": Tensor((3,), "int32", 22 << 32)}
    return tensors() | made | changes


def test_sequences_that_share_prefixes_run_two_attentions_and_a_merge(stub, runtime):
    exchange.set_current_stream(0)
    with runtime.attention(SHARED) as attention, attention.workspace() as workspace:
        before = len(stub.launches())
        attention.run(**shared_tensors(), workspace=workspace)
        launched = [each.kernel.decode() for each in stub.launches()[before:]]
        assert len(launched) == attention.info["steps"]
        assert launched[-1] == "attention_merge"
        plan = runtime.attention_plan(SHARED, "9.0", 132)
        assert plan["own"]["backend"] == plan["prefix"]["backend"] == "templates"
        assert plan["merge"].startswith("attention_merge(")
        for name, wrong in (("prefix_page_table", Tensor((2, 62), "int32")), ("group_offsets", Tensor((2,), "int32")),
                            ("prefix_lengths", None)):
            with pytest.raises(cubinet.InvalidArgument, match=f"'{name}'"):
                attention.run(**shared_tensors(**{name: wrong}), workspace=workspace)


def test_prefixes_belong_to_groups(runtime, attention, workspace):
    for change, message in (({"prefix_groups": 0}, "prefix_len"), ({"prefix_len": 0}, "prefix_len"),
                            ({"group_tokens": 4}, "group_tokens"), ({"window": 3000}, "hides tokens of a prefix"),
                            ({"prefix_lengths": (1,)}, "'prefix_lengths' has 1 lengths"),
                            ({"prefix_lengths": (1, 4001)}, "4001")):
        with pytest.raises(cubinet.Error, match=message):
            runtime.attention_plan(dataclasses.replace(SHARED, **change))
    with pytest.raises(TypeError, match="'prefix_lengths'"):
        dataclasses.replace(SHARED, prefix_lengths=(1.5, 2))
    with pytest.raises(cubinet.InvalidArgument, match="'group_offsets'"):
        attention.run(**tensors(group_offsets=Tensor((3,), "int32")), workspace=workspace)


def test_a_check_asks_the_driver_where_the_tensors_are(stub, attention, workspace):
    with pytest.raises(cubinet.Error, match="attention: q must be on"):
        attention.check(**tensors(), workspace=workspace)
    assert stub.launches() == []


def test_a_run_follows_the_current_stream_and_a_stated_one(stub, attention, workspace):
    current, stated = stub.make_stream(), stub.make_stream()
    exchange.set_current_stream(current)
    attention.run(**tensors(), workspace=workspace)
    assert stub.launches()[-1].stream == current
    attention.run(**tensors(), workspace=workspace, stream=stated)
    assert stub.launches()[-1].stream == stated


PROMPTS = dataclasses.replace(PROBLEM, prefill=True, q_len=200, ragged_q=True, kv_layout="sequences")


def prompt_tensors(problem=PROMPTS, **changes):
    b, d = problem.batch, problem.head_dim_qk
    shapes = {"q": (77, 32, d), "k": (99, 8, d), "v": (99, 8, d), "o": (77, 32, d), "kv_lengths": (b,),
              "q_offsets": (b + 1,), "kv_offsets": (b + 1,)}
    if problem.kv_layout == "contiguous":
        shapes |= {"k": (b, problem.kv_len, 8, d), "v": (b, problem.kv_len, 8, d)}
    made = {name: Tensor(shape, "bfloat16" if name in "qkvo" else "int32", (index + 1) << 32)
            for index, (name, shape) in enumerate(shapes.items())}
    return made | changes


@pytest.mark.parametrize("layout", ["sequences", "contiguous"])
def test_prompts_have_kv_without_pages(stub, runtime, layout):
    problem = dataclasses.replace(PROMPTS, kv_layout=layout)
    given = prompt_tensors(problem)
    if layout == "contiguous":
        del given["kv_offsets"]
    exchange.set_current_stream(0)
    with runtime.attention(problem) as attention, attention.workspace() as workspace:
        assert attention.info["kernel"].startswith("attention_prefill")
        before = len(stub.launches())
        attention.run(**given, workspace=workspace)
        assert len(stub.launches()) == before + 1
        with pytest.raises(cubinet.InvalidArgument, match="'page_table' is not used"):
            attention.run(**given, page_table=Tensor((3, PAGES), "int32"), workspace=workspace)
        wrong = given | {"k": Tensor((5, 8, 64))}
        with pytest.raises(cubinet.InvalidArgument, match="'k' has the shape"):
            attention.run(**wrong, workspace=workspace)
        del given["q_offsets"]
        with pytest.raises(cubinet.InvalidArgument, match="'q_offsets'"):
            attention.run(**given, workspace=workspace)


def test_prompts_over_pages_of_other_sizes_are_one_kernel(runtime):
    plans = [runtime.attention_plan(dataclasses.replace(PROBLEM, prefill=True, q_len=200, page_size=size), "9.0")
             for size in (8, 24, 64, 256)]
    assert len({str(plan["specification"]) for plan in plans}) == 1
    with pytest.raises(cubinet.InvalidArgument, match="page_size"):
        runtime.attention_plan(dataclasses.replace(PROBLEM, prefill=True, page_size=12), "9.0")


def test_one_query_token_needs_no_dimension(stub, attention, workspace):
    attention.run(**tensors(q=Tensor((3, 32, 128)), o=Tensor((3, 32, 128), address=9 << 32)), workspace=workspace)
    assert stub.launches()


def test_views_are_passed_by_their_strides(stub, attention, workspace):
    """A packed cache, [pages, heads, page, K and V], and a Q that is part of a fused projection."""
    row = 2 * 128
    shape, strides = (50, 64, 8, 128), (8 * 64 * row, row, 64 * row, 1)
    packed = {"k": Tensor(shape, address=2 << 32, strides=strides),
              "v": Tensor(shape, address=(2 << 32) + 256, strides=strides)}
    fused = Tensor((3, 1, 32, 128), strides=(48 * 128, 48 * 128, 128, 1))
    attention.run(**tensors(q=fused, **packed), workspace=workspace)
    assert stub.launches()


def test_a_table_with_more_entries_than_needed_is_read_by_its_own_stride(stub, attention, workspace):
    stride = 216  # the offset of page_table_stride in AttentionDecodeParameters
    narrow = Tensor((3, PAGES), "int32", 5 << 32)
    wide = Tensor((3, PAGES + 5), "int32", 5 << 32)
    part = Tensor((3, PAGES), "int32", 5 << 32, strides=(40, 1))
    for table, expected in ((narrow, PAGES), (wide, PAGES + 5), (part, 40)):
        attention.run(**tensors(page_table=table), workspace=workspace)
        assert int.from_bytes(stub.launches()[-1].values()[stride : stride + 8], "little") == expected


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("q", Tensor((3, 1, 32, 64)), r"'q' has the shape \[3, 1, 32, 64\]; expected \[batch=3, q_len=1, heads_q=32"),
        ("q", Tensor((2, 1, 32, 128)), r"'q' has the shape \[2, 1, 32, 128\]"),
        ("q", Tensor((3, 1, 32, 128), "float16"), "'q' has elements of type fp16; pass a tensor of bf16"),
        ("q", Tensor((3, 1, 32, 128), device=(1, 0)), "'q' is in host memory"),
        ("q", Tensor((3, 1, 32, 128), device=(10, 0)), "'q' is on a device of DLPack's type 10"),
        ("q", Tensor((3, 1, 32, 128), device=(2, 1)), "'q' is on device 1; pass a tensor on device 0"),
        ("q", Tensor((3, 1, 32, 128), strides=(8192, 8192, 256, 2)), "'q' .*not contiguous in its last dimension"),
        ("q", Tensor((3, 1, 32, 128), address=(1 << 32) + 2), "q is at the address"),
        ("q", 7, "'q' is no tensor"),
        ("k", Tensor((50, 32, 8, 128)), r"'k' .*page_size=64"),
        ("k", Tensor((0, 64, 8, 128)), r"'k' .*pages>=1"),
        ("v", Tensor((50, 64, 8, 128), "float8_e4m3fn"), "'v' has elements of type e4m3"),
        ("v", Tensor((50, 64, 8, 128), strides=(8, 8, 8, 1)), "v has the strides"),
        ("page_table", Tensor((3, PAGES - 1), "int32"), r"'page_table' .*pages>=16"),
        ("page_table", Tensor((3, PAGES), "float32"), "'page_table' has elements of type fp32; pass a tensor of int32"),
        ("page_table", Tensor((3, PAGES), "int32", strides=(0, 1)), "'page_table' has rows that overlap"),
        ("q", Tensor((3, 1, 32, 128), strides=(0, 0, 0, 1)), "'q' repeats one row"),
        ("kv_lengths", Tensor((2,), "int32"), r"'kv_lengths' has the shape \[2\]; expected \[batch=3\]"),
        ("kv_lengths", Tensor((3,), "int32", strides=(2,)), "'kv_lengths' .*contiguous"),
        ("sinks", Tensor((32,), "float32"), "'sinks' is not used by this problem"),
        ("new_k", Tensor((3, 1, 8, 128)), "'new_k' is not used by this problem"),
        ("workspace", Tensor((9,), "uint8"), "'workspace' is no Workspace"),
    ],
)
def test_a_wrong_tensor_is_refused_by_name_before_any_launch(stub, attention, workspace, name, wrong, message):
    given = tensors(workspace=workspace) | {name: wrong}
    for call in (attention.run, attention.check):
        with pytest.raises(cubinet.InvalidArgument, match=message):
            call(**given)
    assert stub.launches() == []


def test_tokens_is_no_argument_of_attention(stub, attention, workspace):
    for call in (attention.run, attention.check):
        with pytest.raises(TypeError, match=rf"{call.__name__}\(\) got an unexpected keyword argument 'tokens'"):
            call(**tensors(workspace=workspace), tokens=3)
    assert stub.launches() == []


@pytest.mark.parametrize("name", ["q", "k", "v", "o", "page_table", "kv_lengths"])
def test_a_missing_tensor_is_refused_by_name(stub, attention, workspace, name):
    given = tensors(workspace=workspace)
    for absent in ({}, {name: None}):
        without = {key: value for key, value in given.items() if key != name} | absent
        with pytest.raises(cubinet.InvalidArgument, match=f"'{name}' is missing"):
            attention.run(**without)
    assert stub.launches() == []


def test_each_flag_of_an_append_reaches_the_kernels(stub, runtime):
    kv_lengths_exclude_new = {"attention_append": 320, "attention_decode": 280}  # offsets in their parameters
    rows = {name: Tensor((3, 1, 8, 128), address=at << 32) for name, at in (("new_k", 20), ("new_v", 21))}
    for excludes in (False, True):
        problem = dataclasses.replace(PROBLEM, append=True, lengths_exclude_new=excludes)
        with runtime.attention(problem) as attention, attention.workspace() as workspace:
            attention.run(**tensors(problem), **rows, workspace=workspace)
        seen = {each.kernel.decode(): each.values() for each in stub.launches()}  # the last of each kernel
        for kernel, offset in kv_lengths_exclude_new.items():
            assert int.from_bytes(seen[kernel][offset : offset + 4], "little", signed=True) == -excludes
    for flag in ("rope_interleaved", "positions", "lengths_exclude_new"):
        with pytest.raises(cubinet.InvalidArgument, match="an append"):
            runtime.attention(dataclasses.replace(PROBLEM, **{flag: True}))


def test_unknown_keywords_and_positions_are_type_errors(attention, workspace):
    with pytest.raises(TypeError, match="unexpected keyword argument 'qq'"):
        attention.run(**tensors(), qq=1)
    with pytest.raises(TypeError, match="'tokens'"):
        attention.run(**tensors(), workspace=workspace, tokens=1)
    with pytest.raises(TypeError, match="keyword arguments only"):
        attention.run(Tensor((3, 1, 32, 128)))


def test_a_workspace_of_a_smaller_plan_is_refused(stub, runtime, attention):
    small = runtime.attention(dataclasses.replace(PROBLEM, batch=1, kv_len=64))
    needed = attention.info["scratch_bytes"]
    if small.info["scratch_bytes"] >= needed:
        pytest.skip("the small plan needs as much")
    with small.workspace() as workspace, pytest.raises(cubinet.InvalidArgument, match="scratch|counters"):
        attention.run(**tensors(), workspace=workspace)
    assert stub.launches() == []


def test_scratch_and_counters_may_be_the_callers(stub, attention):
    info = attention.info
    own = {"scratch": Tensor((max(info["scratch_bytes"], 1),), "uint8", 20 << 32),
           "counters": Tensor((max(info["counter_bytes"], 1),), "uint8", 21 << 32)}
    attention.run(**tensors(), **own)
    assert stub.launches()


def test_closed_objects_are_refused(stub, runtime):
    attention = runtime.attention(PROBLEM)
    workspace = attention.workspace()
    workspace.close()
    with pytest.raises(cubinet.InvalidArgument, match="the Workspace is closed"):
        attention.run(**tensors(), workspace=workspace)
    attention.close()
    assert attention.closed
    for call in (lambda: attention.run(**tensors()), lambda: attention.info, attention.workspace):
        with pytest.raises(cubinet.InvalidArgument, match="the Attention is closed"):
            call()
    assert stub.launches() == []


def test_objects_that_the_library_did_not_make_are_type_errors(runtime, attention):
    merge = runtime.merge(4, 128)
    for call in (
        lambda: cubinet.Attention.__new__(cubinet.Attention).run(q=None),
        lambda: cubinet.Attention.__new__(cubinet.Attention).check(q=None),
        lambda: cubinet.Merge.__new__(cubinet.Merge).run(o=None),
        lambda: attention.run(**tensors(), workspace=cubinet.Workspace.__new__(cubinet.Workspace)),
        lambda: attention.check(**tensors(), workspace=type("Mine", (cubinet.Workspace,), {})()),
    ):
        with pytest.raises(TypeError):
            call()
    merge.close()


def test_a_closed_runtime_binds_nothing(make_runtime, shared_home):
    runtime = make_runtime(home=shared_home)
    runtime.close()
    for call in (lambda: runtime.attention(PROBLEM), lambda: runtime.attention_plan(PROBLEM), lambda: runtime.merge(1, 8)):
        with pytest.raises(cubinet.InvalidArgument, match="closed"):
            call()


def test_handles_refuse_to_pickle(attention, workspace):
    for handle in (attention, workspace):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(handle)


def test_new_tokens_are_appended_and_rotated(stub, runtime):
    problem = dataclasses.replace(PROBLEM, append=True, rope_dim=128)
    given = tensors(
        new_q=Tensor((3, 1, 32, 128), address=10 << 32),
        new_k=Tensor((3, 1, 8, 128), address=11 << 32, strides=(48 * 128, 48 * 128, 128, 1)),
        new_v=Tensor((3, 1, 8, 128), address=12 << 32, strides=(48 * 128, 48 * 128, 128, 1)),
        cos_sin=Tensor((1000, 128), "float32", 13 << 32),
    )
    with runtime.attention(problem) as attention, attention.workspace() as workspace:
        attention.run(**given, workspace=workspace)
        assert "append" in stub.launches()[0].kernel.decode()
        with pytest.raises(cubinet.InvalidArgument, match=r"'cos_sin' .*positions>=1000"):
            attention.run(**(given | {"cos_sin": Tensor((10, 128), "float32")}), workspace=workspace)


def test_ragged_queries_have_offsets(stub, runtime):
    problem = dataclasses.replace(PROBLEM, ragged_q=True, q_len=4, lse=True)
    given = tensors(
        q=Tensor((9, 32, 128)), o=Tensor((9, 32, 128), address=9 << 32),
        q_offsets=Tensor((4,), "int32", 10 << 32), lse=Tensor((12, 32), "float32", 11 << 32),
    )
    with runtime.attention(problem) as attention, attention.workspace() as workspace:
        with pytest.raises(cubinet.InvalidArgument, match="'q_offsets' is missing"):
            attention.run(**{name: tensor for name, tensor in given.items() if name != "q_offsets"}, workspace=workspace)
        assert stub.launches() == []


def test_two_parts_are_merged(stub, runtime):
    exchange.set_current_stream(0)
    o = [Tensor((5, 32, 128), address=(index + 1) << 32) for index in range(3)]
    lse = [Tensor((5, 32), "float32", (index + 11) << 32) for index in range(3)]
    with runtime.merge(heads=32, head_dim=128) as merge:
        merge.run(first_o=o[0], first_lse=lse[0], second_o=o[1], second_lse=lse[1], o=o[2], lse=lse[2])
        assert "merge" in stub.launches()[-1].kernel.decode()
        count = len(stub.launches())
        merge.run(first_o=o[0], first_lse=lse[0], second_o=o[1], second_lse=lse[1], o=o[2], tokens=0)
        assert len(stub.launches()) == count
        with pytest.raises(cubinet.InvalidArgument, match="'tokens' is 6"):
            merge.run(first_o=o[0], first_lse=lse[0], second_o=o[1], second_lse=lse[1], o=o[2], tokens=6)
        with pytest.raises(cubinet.InvalidArgument, match="'second_lse' is missing"):
            merge.run(first_o=o[0], first_lse=lse[0], second_o=o[1], o=o[2])


@pytest.mark.parametrize("head_dim", [72, 88])
@pytest.mark.parametrize("type_q", ["bf16", "e4m3"])
def test_rows_of_e4m3_that_are_no_multiples_of_16_bytes_have_strides_of_8(stub, runtime, type_q, head_dim):
    dtype = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn"}
    problem = dataclasses.replace(PROBLEM, prefill=True, q_len=5, heads_q=9, heads_kv=3, head_dim_qk=head_dim,
                                  head_dim_v=head_dim, type_q=type_q, type_kv="e4m3")
    cache = (50, 64, 3, head_dim)

    def pages(address, row):
        return Tensor(cache, dtype["e4m3"], address, strides=(64 * 3 * row, 3 * row, row, 1))

    def given(row):
        return {"q": Tensor((3, 5, 9, head_dim), dtype[type_q], 1 << 32), "k": pages(2 << 32, row),
                "v": pages(3 << 32, row), "o": Tensor((3, 5, 9, head_dim), "bfloat16", 4 << 32),
                "page_table": Tensor((3, PAGES), "int32", 5 << 32), "kv_lengths": Tensor((3,), "int32", 6 << 32)}

    exchange.set_current_stream(0)
    with runtime.attention(problem) as attention, attention.workspace() as workspace:
        assert attention.info["kernel"] == "attention_prefill"
        for row in (head_dim, head_dim + 8, head_dim + 24):
            before = len(stub.launches())
            attention.run(**given(row), workspace=workspace)
            assert len(stub.launches()) > before
        for row in (head_dim + 4, head_dim + 1):
            with pytest.raises(cubinet.InvalidArgument, match="k.*multiples of 8 bytes"):
                attention.run(**given(row), workspace=workspace)
    with pytest.raises(cubinet.InvalidArgument, match="multiple of 16 with append"):
        runtime.attention(dataclasses.replace(problem, append=True))
