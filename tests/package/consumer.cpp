// SPDX-License-Identifier: Apache-2.0
// A user's first program with the installed package. It uses every library behind the interface and
// needs neither a driver nor a compiler: it looks up a kernel in its own empty home and does not
// compile it.
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/runtime.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

int look_up(const std::filesystem::path& home) {
  cubinet::RuntimeOptions options;
  auto opened = cubinet::Home::open({.path = home});
  if (!opened) return 2;
  options.stores.push_back(*std::move(opened));
  options.compile = cubinet::CompilePolicy::never;
  const auto runtime = cubinet::Runtime::create(std::move(options));
  if (!runtime) {
    std::fputs(runtime.error().to_line().c_str(), stderr);
    return 1;
  }

  cubinet::KernelSpec spec{"rms_norm", {}};
  spec.set("hidden_size", 4096);
  const auto target = cubinet::SmTarget::parse("sm_90a");
  if (!target) return 3;
  const auto found = (*runtime)->cubin(spec, *target);
  if (!found) {
    std::fputs(found.error().to_line().c_str(), stderr);
    return 4;
  }
  if (found->has_value()) return 5;
  const auto resolved = (*runtime)->templates().find("rms_norm").and_then([&](const auto& kernel_template) {
    return kernel_template->resolve(spec);
  });
  if (!resolved) return 6;
  std::puts(cubinet::identify(*resolved, *target).key().to_string().c_str());
  return 0;
}

}  // namespace

int main() {
  std::string home = (std::filesystem::temp_directory_path() / "cubinet-consumer-XXXXXX").string();
  if (::mkdtemp(home.data()) == nullptr) return 7;
  const int status = look_up(home);
  std::filesystem::remove_all(home);
  return status;
}
