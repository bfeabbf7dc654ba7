// SPDX-License-Identifier: Apache-2.0
#include "function.hpp"

#include "classes.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "fast_method.hpp"
#include "launch_arguments.hpp"
#include "launch_options.hpp"
#include "stream.hpp"
#include "text.hpp"

#include <stdexcept>
#include <typeinfo>

namespace cubinet_python {
namespace {

// The texts belong to the function, which another thread may close.
cubinet_function_info info_of(const Handle<cubinet_function>& function) {
  cubinet_function_info info = CUBINET_FUNCTION_INFO_INIT;
  call([&](cubinet_error** error) { return cubinet_function_get_info(function.get(), &info, error); });
  return info;
}

nb::dict describe(const PyFunction& self) {
  const Handle<cubinet_function> function = self.open();
  const cubinet_function_info info = info_of(function);
  nb::dict facts;
  facts["name"] = self.parameters.name;
  facts["symbol"] = std::string(view_of(info.symbol));
  facts["device"] = self.parameters.device;
  facts["block"] = nb::make_tuple(info.block[0], info.block[1], info.block[2]);
  facts["dynamic_shared_bytes"] = info.dynamic_shared_bytes;
  facts["digest"] = nb::bytes(reinterpret_cast<const char*>(info.digest), sizeof info.digest);
  facts["handle"] = reinterpret_cast<std::uintptr_t>(info.handle);
  facts["parameter_sizes"] = self.parameters.states_sizes ? nb::cast(self.parameters.sizes) : nb::none();
  return facts;
}

std::string show(const PyFunction& self) {
  return "<Function " + self.parameters.name + " on device " + std::to_string(self.parameters.device) +
         (self.handle ? ">" : ", closed>");
}

void refuse_to_pickle(nb::handle, nb::args) {
  throw nb::type_error(
      "a Function belongs to a Runtime and cannot be pickled; pickle its Spec or SourceProgram");
}

nb::tuple global(const PyFunction& self, const std::string& name) {
  const Handle<cubinet_function> function = self.open();
  std::uint64_t address = 0;
  std::size_t size = 0;
  call([&](cubinet_error** error) {
    return cubinet_function_global(function.get(), to_c(name), &address, &size, error);
  });
  return nb::make_tuple(address, size);
}

// launch(*args, grid=…, block=…, …): a C function, because nanobind's dispatch cannot pass the
// arguments on without a tuple.
PyObject* launch(PyObject* object, PyObject* const* arguments, Py_ssize_t count, PyObject* names) noexcept {
  try {
    const PyFunction& self = self_of<PyFunction>(object);
    const Handle<cubinet_function> function = self.open();
    const LaunchArguments converted(self.parameters, arguments, static_cast<std::size_t>(count));
    LaunchOptions options(names, arguments + count);
    options.config.stream =
        stream_of(options.stream, converted.exchange(), converted.has_tensor(), self.parameters.device);
    call([&](cubinet_error** error) {
      return cubinet_function_launch(function.get(), &options.config, converted.pointers(), converted.sizes(),
                                     converted.count(), error);
    });
    Py_RETURN_NONE;
  } catch (...) {
    restore_error();
  }
  return nullptr;
}

PyMethodDef launch_method = {
    "launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&launch)),
    METH_FASTCALL | METH_KEYWORDS,
    // The first line is what inspect.signature() reads.
    "launch($self, /, *arguments, grid, block=None, cluster=None, dynamic_shared_bytes=None, stream=None, "
    "programmatic=False, cooperative=False, spreads_clusters=False)\n--\n\n"
    "Launches the kernel. Does not wait for the device.\n\n"
    "An argument is a tensor on the function's device (its address is passed), None (a null pointer),\n"
    "a number, or the bytes of a structure. `grid` counts blocks, `block` threads and `cluster` blocks:\n"
    "x, (x,), (x, y) or (x, y, z). A template's kernels have their own block, cluster and shared memory.\n"
    "`stream` is a stream of PyTorch, CuPy or cuda.core, or a CUstream as an int; None means the current\n"
    "stream of the tensors' library. Raises InvalidArgument, before any launch, for a wrong argument."};

}  // namespace

PyFunction::PyFunction(Handle<cubinet_function> loaded) : handle(std::move(loaded)) {
  const cubinet_function_info info = info_of(handle);
  parameters.name = view_of(info.name);
  parameters.device = info.device;
  parameters.states_sizes = info.parameter_sizes != nullptr;
  if (!parameters.states_sizes) return;
  parameters.sizes.assign(info.parameter_sizes, info.parameter_sizes + info.parameter_count);
  parameters.types = argument_types(std::string(view_of(info.symbol)));
  // Other names than C++'s may look mangled.
  const std::size_t count = parameters.sizes.size();
  if (parameters.types.size() != count) parameters.types.assign(count, ArgumentType{});
}

const Handle<cubinet_function>& PyFunction::open() const {
  if (!handle) refuse("the Function is closed", "get another from the Kernel");
  return handle;
}

void add_function(nb::module_& module) {
  const auto type =
      nb::class_<PyFunction>(
          module, "Function",
          "A loaded kernel on one device. It keeps the kernel loaded, and so does a CUDA graph that\n"
          "captured a launch. Thread-safe. Kernel.function() makes it.")
          .def("describe", describe, nb::sig("def describe(self) -> dict[str, typing.Any]"),
               "Returns name, symbol, device, block, dynamic_shared_bytes, digest (SHA-256 of the image),\n"
               "handle (the CUfunction) and parameter_sizes in bytes (None: not known).")
          .def("global_variable", global, nb::arg("name"),
               nb::sig("def global_variable(self, name: str) -> tuple[int, int]"),
               "Returns address and size of a variable of the function's module, valid while the function\n"
               "is kept.")
          .def(
              "close", [](PyFunction& self) { self.handle.reset(); },
              "Releases the function. Unloads nothing before Runtime.trim() or the end of the Runtime.")
          .def(
              "__enter__", [](nb::object self) { return self; }, nb::sig("def __enter__(self) -> Function"))
          .def(
              "__exit__", [](PyFunction& self, nb::args) { self.handle.reset(); },
              nb::sig("def __exit__(self, *error: object) -> None"))
          .def("__repr__", show)
          .def("__reduce_ex__", refuse_to_pickle,
               nb::sig("def __reduce_ex__(self, protocol: typing.SupportsIndex, /) -> typing.NoReturn"))
          .def_prop_ro("closed", [](const PyFunction& self) { return !self.handle; })
          .def_prop_ro(
              "name", [](const PyFunction& self) { return self.parameters.name; },
              "The name in the source or template.")
          .def_prop_ro(
              "device", [](const PyFunction& self) { return self.parameters.device; },
              "The ordinal of the device.");
  add_method(type, launch_method);
}

}  // namespace cubinet_python
