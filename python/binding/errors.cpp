// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include "handle.hpp"
#include "text.hpp"

namespace cubinet_python {
namespace {

nb::str to_python(std::string_view text) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

[[noreturn]] void raise_code(cubinet_status code, std::string_view message, std::string_view remedy,
                             std::string_view detail, std::int64_t native) {
  const nb::object make = nb::module_::import_("cubinet.errors").attr("make_error");
  const nb::object error = make(code, to_python(message), to_python(remedy), to_python(detail), native);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

}  // namespace

void raise(cubinet_error* error) {
  cubinet_error_info info = CUBINET_ERROR_INFO_INIT;
  // Only exhausted memory leaves a failed call without an error.
  if (error == nullptr || cubinet_error_get(error, &info) != CUBINET_OK)
    raise_code(CUBINET_UNAVAILABLE, "the library has no memory for an error", "free memory", "", 0);
  const std::string message(view_of(info.message));
  const std::string remedy(view_of(info.remedy));
  const std::string detail(view_of(info.detail));
  const cubinet_status code = info.code;
  const std::int64_t native = info.native;
  cubinet_error_release(error);
  raise_code(code, message, remedy, detail, native);
}

void refuse(std::string_view message, std::string_view remedy) {
  raise_code(CUBINET_INVALID_ARGUMENT, message, remedy, "", 0);
}

void refuse_busy(std::string_view message, std::string_view remedy) {
  raise_code(CUBINET_BUSY, message, remedy, "", 0);
}

Handle<cubinet_runtime> RuntimeState::open() const {
  if (!handle) refuse("the Runtime is closed", "create another Runtime");
  return handle;
}

}  // namespace cubinet_python
