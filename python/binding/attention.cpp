// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "attention_problem.hpp"
#include "classes.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "fast_method.hpp"
#include "handle_methods.hpp"
#include "runtime.hpp"
#include "stream.hpp"
#include "tensor_roles.hpp"
#include "text.hpp"

#include <cubinet/dlpack/attention_roles.hpp>

namespace cubinet_python {
namespace {

// _core.Workspace: scratch memory of runs on one stream.
struct PyWorkspace {
  Handle<cubinet_workspace> handle;
};

// _core.Attention: a plan whose kernels are loaded on one device. Immutable except for close().
struct PyAttention {
  Handle<cubinet_attention> handle;
  std::int32_t device = 0;
  TensorRoles roles;

  const Handle<cubinet_attention>& open() const {
    if (!handle) refuse("the Attention is closed", "bind another");
    return handle;
  }
};

// _core.Merge: the kernel that merges two partial results, loaded on one device.
struct PyMerge {
  Handle<cubinet_merge> handle;
  std::int32_t device = 0;
  TensorRoles roles;

  const Handle<cubinet_merge>& open() const {
    if (!handle) refuse("the Merge is closed", "bind another");
    return handle;
  }
};

std::string plan(const PyRuntime& self, const nb::dict& problem, const nb::dict& options,
                 const std::string& device, std::uint32_t sm_count) {
  const ProblemValues values(problem, options);
  const Handle<cubinet_runtime> runtime = self.state->open();
  cubinet_text* json = nullptr;
  call([&](cubinet_error** error) {
    return cubinet_attention_plan(runtime.get(), &values.problem(), &values.options(), to_c(device), sm_count,
                                  &json, error);
  });
  return take_text(json);
}

PyAttention bind(const PyRuntime& self, const nb::dict& problem, const nb::dict& options,
                 std::int32_t device) {
  const ProblemValues values(problem, options);
  const Handle<cubinet_runtime> runtime = self.state->open();
  cubinet_attention* bound = nullptr;
  call([&](cubinet_error** error) {
    return cubinet_attention_bind(runtime.get(), &values.problem(), &values.options(), device, &bound, error);
  });
  return {own(bound, cubinet_attention_release),
          device,
          {"attention", device, cubinet::dlpack::attention_roles(values.problem())}};
}

nb::dict info(const PyAttention& self) {
  cubinet_attention_info facts = CUBINET_ATTENTION_INFO_INIT;
  const Handle<cubinet_attention> attention = self.open();
  call([&](cubinet_error** error) { return cubinet_attention_get_info(attention.get(), &facts, error); });
  nb::dict result;
  result["backend"] = std::string(view_of(facts.backend));
  result["kernel"] = std::string(view_of(facts.kernel));
  result["steps"] = facts.steps;
  result["scratch_bytes"] = facts.scratch_bytes;
  result["counter_bytes"] = facts.counter_bytes;
  result["workspace_alignment"] = facts.workspace_alignment;
  return result;
}

PyWorkspace make_workspace(const PyAttention& self) {
  cubinet_workspace* created = nullptr;
  const Handle<cubinet_attention> attention = self.open();
  call([&](cubinet_error** error) { return cubinet_workspace_create(attention.get(), &created, error); });
  return {own(created, cubinet_workspace_release)};
}

// Returns the workspace of a call, or an empty handle if none is given.
Handle<cubinet_workspace> workspace_of(PyObject* object) {
  if (object == nullptr || object == Py_None) return {};
  if (!nb::isinstance<PyWorkspace>(object))
    refuse("'workspace' is no Workspace", "pass what Attention.workspace() returned");
  const Handle<cubinet_workspace> workspace = self_of<PyWorkspace>(object).handle;
  if (!workspace) refuse("the Workspace is closed", "make another");
  return workspace;
}

// Reads the keyword arguments of run() and check(). `tokens` is an argument of Merge.run() alone.
TensorRoles::Call read_tensors(const PyAttention& self, const char* function, PyObject* names,
                               PyObject* const* values, cubinet_attention_tensors& tensors) {
  const TensorRoles::Call given = self.roles.read(names, values, &tensors);
  if (given.tokens != nullptr)
    throw nb::type_error((std::string(function) + "() got an unexpected keyword argument 'tokens'").c_str());
  // Latent attention has one pool.
  if (tensors.v.address == 0) tensors.v = tensors.k;
  return given;
}

void run(const PyAttention& self, PyObject* names, PyObject* const* values) {
  const Handle<cubinet_attention> attention = self.open();
  cubinet_attention_tensors tensors = CUBINET_ATTENTION_TENSORS_INIT;
  const TensorRoles::Call given = read_tensors(self, "run", names, values, tensors);
  const Handle<cubinet_workspace> workspace = workspace_of(given.workspace);
  void* const stream = stream_of(given.stream, given.exchange, true, self.device);
  call([&](cubinet_error** error) {
    return cubinet_attention_run(attention.get(), &tensors, workspace.get(), stream, error);
  });
}

void check(const PyAttention& self, PyObject* names, PyObject* const* values) {
  const Handle<cubinet_attention> attention = self.open();
  cubinet_attention_tensors tensors = CUBINET_ATTENTION_TENSORS_INIT;
  const TensorRoles::Call given = read_tensors(self, "check", names, values, tensors);
  const Handle<cubinet_workspace> workspace = workspace_of(given.workspace);
  call([&](cubinet_error** error) {
    return cubinet_attention_check(attention.get(), &tensors, workspace.get(), error);
  });
}

PyMerge bind_merge(const PyRuntime& self, std::uint32_t heads, std::uint32_t head_dim,
                   const std::string& type, const std::string& type_o, double output_scale,
                   std::int32_t device) {
  cubinet_merge_problem problem = CUBINET_MERGE_PROBLEM_INIT;
  problem.heads = heads;
  problem.head_dim = head_dim;
  problem.type = element_type(type, "type");
  problem.type_o = element_type(type_o, "type_o");
  problem.output_scale = output_scale;
  const Handle<cubinet_runtime> runtime = self.state->open();
  cubinet_merge* bound = nullptr;
  call([&](cubinet_error** error) {
    return cubinet_merge_bind(runtime.get(), &problem, device, &bound, error);
  });
  return {
      own(bound, cubinet_merge_release), device, {"merge", device, cubinet::dlpack::merge_roles(problem)}};
}

void run_merge(const PyMerge& self, PyObject* names, PyObject* const* values) {
  const Handle<cubinet_merge> merge = self.open();
  cubinet_merge_tensors tensors = CUBINET_MERGE_TENSORS_INIT;
  const TensorRoles::Call given = self.roles.read(names, values, &tensors);
  if (given.workspace != nullptr)
    throw nb::type_error("run() got an unexpected keyword argument 'workspace'");
  std::int64_t tokens = given.first_extent;
  if (given.tokens != nullptr && given.tokens != Py_None) {
    tokens = argument_integer("'tokens'", given.tokens);
    if (tokens < 0 || tokens > given.first_extent)
      refuse(
          "'tokens' is " + std::to_string(tokens) + ", and first_o has " + std::to_string(given.first_extent),
          "pass at most the tokens of the tensors");
  }
  void* const stream = stream_of(given.stream, given.exchange, true, self.device);
  call([&](cubinet_error** error) {
    return cubinet_merge_run(merge.get(), &tensors, static_cast<std::uint32_t>(tokens), stream, error);
  });
}

// The first line of each documentation is what inspect.signature() reads.
PyMethodDef run_method = fast_method<PyAttention, run>(
    "run",
    "run($self, /, *, q=None, k, v=None, o=None, page_table=None, kv_lengths, lse=None, sinks=None, "
    "mask=None, q_offsets=None, kv_offsets=None, softmax_scale=None, output_scale=None, "
    "k_head_scales=None, v_head_scales=None, new_q=None, new_k=None, new_v=None, "
    "positions=None, "
    "cos_sin=None, q_scale=None, k_scale=None, v_scale=None, prefix_page_table=None, prefix_lengths=None, "
    "group_offsets=None, scratch=None, counters=None, workspace=None, "
    "stream=None)\n--\n\n"
    "Launches the plan's kernels on the stream. Loads nothing and does not wait, so it may be\n"
    "captured in a CUDA graph and replayed with any lengths up to kv_len.\n\n"
    "q             [batch, q_len, heads_q, head_dim_qk]\n"
    "k, v          [pages, page_size, heads_kv, head_dim], or [pages, heads_kv, page_size, head_dim] (hnd);\n"
    "              [batch, kv_len, heads_kv, head_dim] (contiguous); [tokens, heads_kv, head_dim] "
    "(sequences)\n"
    "o             [batch, q_len, heads_q, head_dim_v], written\n"
    "page_table    [batch, at least ceil(kv_len / page_size)], int32; with pages\n"
    "kv_lengths    [batch], int32\n"
    "lse           [batch, q_len, heads_q], fp32, natural logarithm, written\n"
    "sinks         [heads_q], fp32\n"
    "mask          [batch, q_len, ceil(q_len / 32)], 32-bit words\n"
    "q_offsets     [batch + 1], int32; q, o and the new rows are then [tokens, heads, head_dim]\n"
    "kv_offsets    [batch + 1], int32; with sequences\n"
    "new_q, new_k, new_v    [batch, q_len, heads, head_dim]\n"
    "positions     [batch, q_len], int32;  cos_sin  [positions, rope_dim], fp32\n"
    "*_scale       one fp32\n"
    "*_head_scales [heads_kv], fp32, or [batch, heads_kv]; with kv_scales\n"
    "prefix_page_table    [prefix_groups, at least ceil(prefix_len / page_size)], int32;  prefix_lengths\n"
    "              [prefix_groups], int32;  group_offsets  [prefix_groups + 1], int32: the first query\n"
    "              token of each group; with prefix_groups\n\n"
    "With q_len 1 this dimension may be left out. q, k, v, o and the new rows may be strided views whose\n"
    "last dimension is contiguous. A workspace, or scratch and counters, is required. `stream` is a\n"
    "stream of PyTorch, CuPy or cuda.core, or a CUstream as an int; None means the current stream of the\n"
    "tensors' library. Raises InvalidArgument, which names the tensor, before any launch.");
PyMethodDef check_method = fast_method<PyAttention, check>(
    "check",
    "check($self, /, **tensors)\n--\n\n"
    "Makes the checks of run(), and asks the driver whether every tensor is in the device's memory.");
PyMethodDef merge_method = fast_method<PyMerge, run_merge>(
    "run",
    "run($self, /, *, first_o, first_lse, second_o, second_lse, o, lse=None, tokens=None, "
    "stream=None)\n--\n\n"
    "Launches the kernel on the stream. Allocates nothing and does not wait.\n\n"
    "O is [tokens, heads, head_dim], log-sum-exps are [tokens, heads], fp32. `o` and `lse` are written,\n"
    "and may be those of one part. `tokens` is the number of tokens that are merged; None: all.");

}  // namespace

void add_attention(nb::module_& module) {
  auto attention = nb::class_<PyAttention>(
      module, "Attention",
      "A plan whose kernels are loaded on one device. Runtime.attention() makes it. A CUDA graph that\n"
      "captured a run keeps the kernels too. Thread-safe.");
  attention
      .def_prop_ro(
          "info", info, nb::sig("def info(self) -> dict[str, typing.Any]"),
          "backend, kernel (of the main step), steps (kernels that a run launches), and the bytes of\n"
          "a workspace: scratch_bytes, counter_bytes, workspace_alignment.")
      .def("workspace", make_workspace,
           "Allocates scratch memory of runs on one stream, and zeroes its counters. Waits for the legacy\n"
           "default stream; must not be called during a capture. Two runs that may overlap need two.")
      .def_ro("device", &PyAttention::device);
  add_handle_methods<PyAttention>(attention, "Attention");
  add_method(attention, run_method);
  add_method(attention, check_method);
  auto workspace = nb::class_<PyWorkspace>(
      module, "Workspace",
      "Scratch memory of runs on one stream. Attention.workspace() makes it. Close it after its last\n"
      "run, and the last launch of a graph with one, has finished.");
  add_handle_methods<PyWorkspace>(workspace, "Workspace");
  auto merge = nb::class_<PyMerge>(
      module, "Merge",
      "The kernel that merges two partial attention results, loaded on one device. Runtime.merge() makes\n"
      "it. Thread-safe.");
  merge.def_ro("device", &PyMerge::device);
  add_handle_methods<PyMerge>(merge, "Merge");
  add_method(merge, merge_method);
  module.def("attention_plan", plan, nb::arg("runtime"), nb::arg("problem"), nb::arg("options"),
             nb::arg("device"), nb::arg("sm_count"));
  module.def("bind_attention", bind, nb::arg("runtime"), nb::arg("problem"), nb::arg("options"),
             nb::arg("device"));
  module.def("bind_merge", bind_merge, nb::arg("runtime"), nb::arg("heads"), nb::arg("head_dim"),
             nb::arg("type"), nb::arg("type_o"), nb::arg("output_scale"), nb::arg("device"));
}

}  // namespace cubinet_python
