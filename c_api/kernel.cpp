// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"
#include "structures.hpp"

#include <cubinet/session/explanation_json.hpp>
#include <cubinet/session/json.hpp>

#include <fmt/format.h>

namespace cubinet::c_api {
namespace {

Result<std::vector<std::string>> texts_of(const cubinet_string* texts, std::size_t count,
                                          std::string_view name) {
  CUBINET_TRY(check_list(texts, count, name));
  std::vector<std::string> copies;
  for (std::size_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(copies.emplace_back(), text_of(texts[i], name));
  }
  return copies;
}

Result<SourceProgram> program_of(const cubinet_source& source) {
  SourceProgram program;
  CUBINET_TRY_ASSIGN(std::string name, text_of(source.name, "source.name"));
  if (!name.empty()) program.name = std::move(name);
  CUBINET_TRY_ASSIGN(program.text, text_of(source.text, "source.text"));
  CUBINET_TRY_ASSIGN(program.kernels, texts_of(source.kernels, source.kernel_count, "source.kernels"));
  CUBINET_TRY_ASSIGN(program.globals, texts_of(source.globals, source.global_count, "source.globals"));
  CUBINET_TRY_ASSIGN(program.flags, texts_of(source.flags, source.flag_count, "source.flags"));
  CUBINET_TRY_ASSIGN(program.folder, text_of(source.folder, "source.folder"));
  CUBINET_TRY(check_list(source.headers, source.header_count, "source.headers"));
  for (std::size_t i = 0; i < source.header_count; ++i) {
    CUBINET_TRY_ASSIGN(std::string header, text_of(source.headers[i].name, "source.headers.name"));
    CUBINET_TRY_ASSIGN(std::string text, text_of(source.headers[i].text, "source.headers.text"));
    program.headers[std::move(header)] = std::move(text);
  }
  return program;
}

// Resolves a request with the runtime and stores the kernel's handle.
template <class Request>
Result<void> resolve(cubinet_runtime* runtime, const Request& request, cubinet_kernel** kernel) {
  CUBINET_TRY_ASSIGN(auto resolved, request(runtime->session->runtime()));
  *kernel = new cubinet_kernel{runtime->session, std::move(resolved)};
  return {};
}

Result<void> check_handles(const cubinet_runtime* runtime, cubinet_kernel** kernel) {
  CUBINET_TRY(check_pointer(runtime, "runtime"));
  return check_pointer(kernel, "kernel");
}

}  // namespace
}  // namespace cubinet::c_api

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_kernel_from_spec(cubinet_runtime* runtime, const cubinet_spec* spec,
                                        cubinet_kernel** kernel, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_handles(runtime, kernel));
    CUBINET_TRY(check_pointer(spec, "spec"));
    return resolve(
        runtime, [&](Runtime& library) { return library.resolve(spec->spec); }, kernel);
  });
}

cubinet_status cubinet_kernel_from_source(cubinet_runtime* runtime, const cubinet_source* source,
                                          cubinet_kernel** kernel, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_handles(runtime, kernel));
    const cubinet_source none = CUBINET_SOURCE_INIT;
    CUBINET_TRY_ASSIGN(const cubinet_source given, read_structure(source, none, "source"));
    CUBINET_TRY_ASSIGN(const SourceProgram program, program_of(given));
    return resolve(
        runtime, [&](Runtime& library) { return library.resolve(program); }, kernel);
  });
}

cubinet_status cubinet_kernel_from_image(cubinet_runtime* runtime, cubinet_string name, const void* image,
                                         size_t size, cubinet_kernel** kernel, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_handles(runtime, kernel));
    CUBINET_TRY_ASSIGN(const std::string text, text_of(name, "name"));
    CUBINET_TRY(check_pointer(image, "image"));
    // Detects the failure of a function that returns the size of a file.
    if (size > kMaximumTextBytes) {
      return Error{ErrorCode::invalid_argument, fmt::format("the argument `size` is {}", size),
                   fmt::format("pass at most {}", kMaximumTextBytes)};
    }
    const ByteView bytes(static_cast<const std::byte*>(image), size);
    return resolve(
        runtime, [&](Runtime& library) { return library.resolve(text, bytes); }, kernel);
  });
}

cubinet_status cubinet_kernel_from_name(cubinet_runtime* runtime, cubinet_string name,
                                        cubinet_kernel** kernel, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_handles(runtime, kernel));
    CUBINET_TRY_ASSIGN(const std::string text, text_of(name, "name"));
    return resolve(
        runtime, [&](Runtime& library) { return library.resolve(std::string_view(text)); }, kernel);
  });
}

cubinet_kernel* cubinet_kernel_retain(cubinet_kernel* kernel) {
  return retain(kernel);
}

void cubinet_kernel_release(cubinet_kernel* kernel) {
  release(kernel);
}

cubinet_status cubinet_kernel_describe(const cubinet_kernel* kernel, cubinet_text** json,
                                       cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(kernel, "kernel"));
    CUBINET_TRY(check_pointer(json, "json"));
    *json = make_text(json_text(describe(kernel->kernel->spec())));
    return {};
  });
}

cubinet_status cubinet_kernel_explain(const cubinet_kernel* kernel, cubinet_string device,
                                      cubinet_text** json, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(kernel, "kernel"));
    CUBINET_TRY(check_pointer(json, "json"));
    CUBINET_TRY_ASSIGN(const std::string name, text_of(device, "device"));
    CUBINET_TRY_ASSIGN(const ComputeCapability capability, ComputeCapability::parse_known(name));
    CUBINET_TRY_ASSIGN(const KernelExplanation explanation,
                       kernel->session->runtime().explain(*kernel->kernel, capability));
    const std::string fix = explanation.cannot_compile ? explanation.cannot_compile->remedy : "";
    *json = make_text(json_text(describe(explanation, fix)));
    return {};
  });
}

cubinet_status cubinet_kernel_image(const cubinet_kernel* kernel, cubinet_string target, int32_t kind,
                                    cubinet_text** image, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(kernel, "kernel"));
    CUBINET_TRY(check_pointer(image, "image"));
    CUBINET_TRY_ASSIGN(const std::string name, text_of(target, "target"));
    CUBINET_TRY_ASSIGN(const SmTarget wanted, SmTarget::parse(name));
    if (kind != CUBINET_IMAGE_CUBIN && kind != CUBINET_IMAGE_PTX) {
      return Error{ErrorCode::invalid_argument, fmt::format("`kind` is {}", kind),
                   "use CUBINET_IMAGE_CUBIN or CUBINET_IMAGE_PTX"};
    }
    const ImageKind image_kind = kind == CUBINET_IMAGE_PTX ? ImageKind::ptx : ImageKind::cubin;
    Runtime& runtime = kernel->session->runtime();
    CUBINET_TRY_ASSIGN(const auto found, runtime.cubin(kernel->kernel->spec(), wanted, image_kind));
    if (!found) {
      return Error{ErrorCode::not_found,
                   fmt::format("there is no build of {} for {}", kernel->kernel->spec().to_string(), name),
                   "add a store that has it, or allow compiling"};
    }
    const Bytes& bytes = *found->cubin.image;
    *image = make_text(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    return {};
  });
}

cubinet_status cubinet_kernel_forget(const cubinet_kernel* kernel, int32_t device, int32_t* released,
                                     cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(kernel, "kernel"));
    if (device < 0)
      return Error{ErrorCode::invalid_argument, fmt::format("`device` is {}", device),
                   "pass a device's number"};
    const bool removed = kernel->session->runtime().release(*kernel->kernel, device);
    if (released != nullptr) *released = removed ? 1 : 0;
    return {};
  });
}
