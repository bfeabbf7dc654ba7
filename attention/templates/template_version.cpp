// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/tuning_candidates.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

namespace cubinet {

std::string version_of(const KernelTemplate& kernel_template) {
  return "interface " + std::to_string(kernel_template.interface_version()) + ", text " +
         kernel_template.text_digest().to_hex().substr(0, 16);
}

}  // namespace cubinet
