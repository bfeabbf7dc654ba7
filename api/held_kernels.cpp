// SPDX-License-Identifier: Apache-2.0
#include "held_kernels.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_table/published_header.hpp>

#include <algorithm>
#include <set>
#include <unordered_set>

namespace cubinet {
namespace {

constexpr std::size_t kListed = 5;
constexpr std::size_t kNameShown = 200;

// A kernel and one of its builds.
struct HeldKernel {
  KernelSpec spec;
  std::size_t build = 0;
};

// Returns each kernel once, by the key of its first build. Skips records that do not decode.
std::vector<HeldKernel> kernels_of(const KernelBuilds& builds) {
  std::vector<HeldKernel> kernels;
  std::set<Bytes> seen;
  for (std::size_t i = 0; i < builds.records.size(); ++i) {
    const KernelIdentity& identity = builds.records[i]->identity;
    if (!seen.insert(identity.kernel().encoding()).second) continue;
    auto decoded = decode_kernel(identity.kernel_encoding());
    if (decoded) kernels.push_back({*std::move(decoded), i});
  }
  std::sort(kernels.begin(), kernels.end(), [&](const HeldKernel& a, const HeldKernel& b) {
    return builds.records[a.build]->identity.key() < builds.records[b.build]->identity.key();
  });
  return kernels;
}

bool fits(const KernelSpec& held, const KernelSpec& asked) {
  return held.maker == asked.maker && held.name == asked.name &&
         std::all_of(asked.parameters.begin(), asked.parameters.end(), [&](const auto& parameter) {
           const auto there = held.parameters.find(parameter.first);
           return there != held.parameters.end() && there->second == parameter.second;
         });
}

// Returns, for example, "unroll (1, 2), pin (…)": the parameters in which kernels differ, with
// their values.
std::string what_differs(const std::vector<HeldKernel>& kernels) {
  std::map<std::string, std::set<std::string>> values;
  for (const HeldKernel& kernel : kernels) {
    for (const auto& [name, value] : kernel.spec.parameters)
      values[name].insert(to_string(value));
  }
  std::vector<std::string> differing;
  for (auto& [parameter, seen] : values) {
    // a lambda of clang 14 cannot capture a structured binding
    const std::string& name = parameter;
    const bool everywhere = std::all_of(kernels.begin(), kernels.end(), [&](const HeldKernel& kernel) {
      return kernel.spec.parameters.contains(name);
    });
    if (seen.size() == 1 && everywhere) continue;
    if (!everywhere) seen.insert("none");
    std::vector<std::string> shown(seen.begin(), seen.end());
    const bool more = shown.size() > kListed;
    if (more) shown.resize(kListed);
    differing.push_back(name + " (" + join(shown) + (more ? ", ..." : "") + ")");
  }
  return join(differing);
}

// Returns the name of its function if the function belongs to this kernel alone.
std::string name_of(const KernelBuilds& builds, const HeldKernel& kernel) {
  const std::vector<EntryPoint>& entries = builds.records[kernel.build]->entry_points;
  return name_with_pin(kernel.spec, entries.empty() ? kernel.spec.name : entries.front().symbol);
}

// Returns a line for people: name, pin or specification, location of a build, and key.
std::string line_of(const Library& library, const KernelBuilds& builds, const HeldKernel& kernel) {
  const CubinRecord& record = *builds.records[kernel.build];
  const std::string line = record.identity.key().to_string() + " " + name_of(builds, kernel);
  const std::string place = library.stores()[builds.candidates[kernel.build].store]->place_of(record);
  return place.empty() ? line : line + " in " + place;
}

Error several(const Library& library, const KernelBuilds& builds, const std::vector<HeldKernel>& kernels,
              const std::string& subject, std::string remedy) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < kernels.size() && i < kListed; ++i)
    lines.push_back(line_of(library, builds, kernels[i]));
  if (kernels.size() > kListed) lines.push_back("...");
  return Error{ErrorCode::invalid_argument,
               subject + " means " + plural(kernels.size(), "kernel") + ": " + join(lines, "; "),
               std::move(remedy)};
}

// Returns the error for a stored function whose name alone identifies no kernel: a publisher's, or
// of another pin.
Error not_of_its_own(const Library& library, const KernelBuilds& builds, const std::string& function) {
  const std::vector<HeldKernel> kernels = kernels_of(builds);
  Error error = several(library, builds, kernels, "the function '" + function.substr(0, kNameShown) + "'",
                        "ask `Runtime::resolve()` for one of them by key or name");
  error.code = ErrorCode::not_found;
  return error;
}

}  // namespace

Result<KernelSpec> held_kernel(Library& library, const KernelSpec& asked, const TemplateCatalog& templates) {
  if (!library.candidates(identify(asked)).records.empty()) return asked;
  CUBINET_TRY_ASSIGN(KernelBuilds builds, asked.maker == KernelMaker::function
                                              ? library.with_function(asked.name)
                                              : library.all());
  std::vector<HeldKernel> kernels = kernels_of(builds);
  std::erase_if(kernels, [&](const HeldKernel& kernel) { return !fits(kernel.spec, asked); });
  if (kernels.size() == 1) return std::move(kernels.front().spec);
  if (!kernels.empty()) {
    return several(library, builds, kernels, asked.to_string(), "say " + what_differs(kernels));
  }
  if (asked.maker == KernelMaker::function && !builds.records.empty())
    return not_of_its_own(library, builds, asked.name);
  const bool of_template = asked.maker == KernelMaker::kernel_template;
  Error error{ErrorCode::not_found, asked.to_string() + " is in no store",
              "import a folder or a bundle that holds it"};
  if (of_template) {
    if (auto known = templates.find(asked.name); !known) error = known.error();
    error.message += "; and no store holds " + asked.to_string().substr(0, kNameShown);
  }
  return error;
}

Result<KernelSpec> kernel_by_name(Library& library, std::string_view key_or_name) {
  const std::string shown(key_or_name.substr(0, kNameShown));
  if (const auto key = KernelKey::parse(key_or_name)) {
    CUBINET_TRY_ASSIGN(const KernelBuilds builds, library.with_key(*key));
    std::vector<HeldKernel> kernels = kernels_of(builds);
    if (kernels.size() == 1) return std::move(kernels.front().spec);
    if (!kernels.empty()) {
      return several(library, builds, kernels, "the key " + shown, "ask by specification");
    }
  }
  const std::size_t at = std::min(key_or_name.find('@'), key_or_name.size());
  const std::string_view pin = key_or_name.substr(std::min(at + 1, key_or_name.size()));
  CUBINET_TRY_ASSIGN(const KernelBuilds builds, library.with_function(key_or_name.substr(0, at)));
  std::vector<HeldKernel> kernels = kernels_of(builds);
  if (!pin.empty()) {
    std::erase_if(kernels, [&](const HeldKernel& kernel) {
      const auto there = kernel.spec.parameters.find("pin");
      return there == kernel.spec.parameters.end() || !names_pin(pin, to_string(there->second));
    });
  }
  if (kernels.size() == 1) return std::move(kernels.front().spec);
  if (!kernels.empty()) {
    return several(
        library, builds, kernels, "'" + shown + "'",
        "name one by its key, or with @ and the beginning of its pin or its publisher's version: " +
            name_of(builds, kernels.front()));
  }
  return Error{
      ErrorCode::not_found,
      "'" + shown + "' is neither the key of a build nor the name of a function that some store holds",
      "`Store::list()` lists the keys of a store; `import_artifacts()` imports published cubins, and "
      "`Runtime::resolve(name, image)` adds an image of your own"};
}

}  // namespace cubinet
