// SPDX-License-Identifier: Apache-2.0
#include "held_kernels.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/record_names.hpp>

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

// Returns a line for people: key, name and location of a build.
std::string line_of(const Library& library, const KernelBuilds& builds, const HeldKernel& kernel) {
  const CubinRecord& record = *builds.records[kernel.build];
  const std::string line = listed_kernel(record);
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
Error ambiguous_function(const Library& library, const KernelBuilds& builds, const std::string& function) {
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
    return several(library, builds, kernels, asked.to_string(), "set " + what_differs(kernels));
  }
  if (asked.maker == KernelMaker::function && !builds.records.empty())
    return ambiguous_function(library, builds, asked.name);
  const bool of_template = asked.maker == KernelMaker::kernel_template;
  Error error{ErrorCode::not_found, asked.to_string() + " is in no store",
              "import a folder or a bundle that holds it"};
  if (of_template) {
    if (auto known = templates.find(asked.name); !known) error = known.error();
    error.message += "; and no store holds " + asked.to_string().substr(0, kNameShown);
  }
  return error;
}

namespace {

// Returns the builds that the name means, by the indexes of the stores if they have it. Other names
// are those of no indexed function.
Result<KernelBuilds> builds_named(Library& library, std::string_view name) {
  const auto meant = [&](KernelBuilds builds) {
    const CubinRecords records = records_named(builds.records, name);
    const std::unordered_set<std::shared_ptr<const CubinRecord>> kept(records.begin(), records.end());
    KernelBuilds found;
    for (std::size_t i = 0; i < builds.records.size(); ++i) {
      if (!kept.contains(builds.records[i])) continue;
      found.candidates.push_back(std::move(builds.candidates[i]));
      found.records.push_back(std::move(builds.records[i]));
    }
    return found;
  };
  if (const auto key = KernelKey::parse(name)) {
    CUBINET_TRY_ASSIGN(KernelBuilds builds, library.with_key(*key));
    if (!builds.records.empty()) return builds;
  }
  std::vector<std::string_view> functions = {name};
  if (const std::size_t at = name.rfind('@'); at != std::string_view::npos)
    functions.push_back(name.substr(0, at));
  for (const std::string_view function : functions) {
    CUBINET_TRY_ASSIGN(KernelBuilds builds, library.with_function(function));
    KernelBuilds found = meant(std::move(builds));
    if (!found.records.empty()) return found;
  }
  CUBINET_TRY_ASSIGN(KernelBuilds builds, library.all());
  return meant(std::move(builds));
}

}  // namespace

Result<KernelSpec> kernel_by_name(Library& library, std::string_view key_or_name) {
  const std::string shown(key_or_name.substr(0, kNameShown));
  CUBINET_TRY_ASSIGN(const KernelBuilds builds, builds_named(library, key_or_name));
  std::vector<HeldKernel> kernels = kernels_of(builds);
  if (kernels.size() == 1) return std::move(kernels.front().spec);
  if (!kernels.empty()) {
    return several(library, builds, kernels, "'" + shown + "'",
                   remedy_for_several(*builds.records[kernels.front().build]));
  }
  return Error{
      ErrorCode::not_found,
      "'" + shown +
          "' is neither the key of a build nor the name of a function, template or source that some store "
          "holds",
      "`Store::list()` lists the keys of a store; `import_artifacts()` imports published cubins, and "
      "`Runtime::resolve(name, image)` adds an image of your own"};
}

}  // namespace cubinet
