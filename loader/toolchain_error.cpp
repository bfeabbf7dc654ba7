// SPDX-License-Identifier: Apache-2.0
#include "toolchain_error.hpp"

#include "driver_api.hpp"

#include <cubinet/spec/cubin_elf.hpp>
#include <cubinet/spec/ptx.hpp>

namespace cubinet {

Error with_toolchains(Error error, const KernelSubject& subject, ByteView image) {
  if (error.native != CUDA_ERROR_UNSUPPORTED_PTX_VERSION && error.native != kInsufficientLoaderVersion)
    return error;
  const bool is_ptx = subject.record.kind == ImageKind::ptx;
  std::string what = "the image";
  std::string release;
  if (is_ptx) {
    if (const auto ptx = inspect_ptx(image)) {
      what = "PTX " + ptx->version;
      release = ptx->release;
    }
  } else {
    release = release_of_cubin(image);
  }
  const std::string made_by = release.empty() ? "a release that it does not name" : "CUDA " + release;
  const std::string driver = "CUDA " + cuda_version_text(subject.device.driver()->version());
  error.message += "; " + what + " was made by " + made_by + ", and the driver is of " + driver;
  error.remedy = "install a driver of " + (release.empty() ? "a later CUDA" : made_by + " or later") +
                 ", or build the kernel with an NVRTC of " + driver + " or earlier";
  if (is_ptx) error.remedy += ", or as machine code, of which the driver compiles nothing";
  return error;
}

}  // namespace cubinet
