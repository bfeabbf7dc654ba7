// SPDX-License-Identifier: Apache-2.0
#include "linker_search.hpp"

#include "compiler_identity.hpp"
#include "compiler_search.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/base/mapped_file.hpp>

#include <algorithm>
#include <charconv>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLinkerPrefix = "libnvJitLink.so.";
constexpr std::string_view kVersionedFunction = "__nvJitLinkCreate_";
constexpr int kNewestLinkerMajor = 13;

// Parses "13_5".
std::optional<NvrtcVersion> underscored_version(std::string_view text) {
  NvrtcVersion version;
  const char* const end = text.data() + text.size();
  const auto [minor, error] = std::from_chars(text.data(), end, version.major);
  if (error != std::errc() || minor == end || *minor != '_') return std::nullopt;
  const auto [rest, wrong] = std::from_chars(minor + 1, end, version.minor);
  if (wrong != std::errc() || rest != end) return std::nullopt;
  return version;
}

constexpr const char* kLinkerRemedy =
    "install the CUDA toolkit of that release or newer, or `pip install --target FOLDER nvidia-nvjitlink` "
    "beside "
    "nvidia-cuda-nvrtc";

Error no_linker(const std::vector<fs::path>& folders) {
  std::string places;
  for (const fs::path& folder : folders)
    places += (places.empty() ? "" : ", ") + folder.string();
  return Error{
      ErrorCode::unavailable,
      "nothing can be linked: no nvJitLink (libnvJitLink.so.13 or .12) was found; searched: " + places,
      kLinkerRemedy};
}

struct OldLinker {
  fs::path library;
  NvrtcVersion version;
};

Error linker_too_old(const OldLinker& newest, NvrtcVersion compiler) {
  return Error{ErrorCode::unsupported,
               "'" + newest.library.string() + "' is nvJitLink " + newest.version.to_string() +
                   ", which does not link what NVRTC " + compiler.to_string() +
                   " compiles: it has to be as new",
               kLinkerRemedy};
}

}  // namespace

std::vector<fs::path> linker_folders(const CompilerCandidate& compiler, const CompilerSearch& search) {
  std::vector<fs::path> folders;
  const auto add = [&](const fs::path& folder) {
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
  };
  // Wheels of CUDA 12 have a folder each. Those of CUDA 13 share one.
  const auto add_with_wheel = [&](const fs::path& folder) {
    add(folder);
    const fs::path wheels = folder.parent_path().parent_path();
    if (wheels.filename() == "nvidia") add(wheels / "nvjitlink/lib");
  };
  add_with_wheel(fs::path(compiler.library).parent_path());
  CompilerSearch places = search;
  places.library.reset();
  for (const fs::path place : places_searched(places))
    add_with_wheel(place);
  return folders;
}

std::optional<NvrtcVersion> linker_version(const fs::path& library) {
  const auto file = MappedFile::open(library);
  if (!file) return std::nullopt;
  const auto elf = ElfImage::parse(file->content());
  const ElfSection* const names = elf ? elf->find_section(".dynstr") : nullptr;
  if (names == nullptr) return std::nullopt;
  const std::string_view text = as_text(names->content);
  std::optional<NvrtcVersion> newest;
  for (std::size_t at = text.find(kVersionedFunction); at != std::string_view::npos;
       at = text.find(kVersionedFunction, at + 1)) {
    const std::string_view tail = text.substr(at + kVersionedFunction.size());
    const auto version = underscored_version(tail.substr(0, tail.find('\0')));
    if (version && (!newest || *version > *newest)) newest = version;
  }
  return newest;
}

Result<LinkerCandidate> linker_in(const CompilerCandidate& compiler, const std::vector<fs::path>& folders) {
  const NvrtcVersion needed = version_by_file_name(compiler).value_or(NvrtcVersion{});
  std::optional<OldLinker> newest_of_old;
  for (const fs::path& folder : folders) {
    // The compiler's own major release is first.
    for (int major = std::max(needed.major, kOldestNvrtcMajor); major <= kNewestLinkerMajor; ++major) {
      const fs::path file = folder / (std::string(kLinkerPrefix) + std::to_string(major));
      std::error_code error;
      if (!fs::is_regular_file(file, error)) continue;
      const auto version = linker_version(file);
      if (!version) continue;
      if (*version < needed) {
        if (!newest_of_old || newest_of_old->version < *version) newest_of_old = OldLinker{file, *version};
        continue;
      }
      const fs::path library = fs::canonical(file, error);
      if (error) continue;
      CUBINET_TRY_ASSIGN(const std::string build, build_of_library(library));
      return LinkerCandidate{library.string(), "nvJitLink " + version->to_string() + ", build " + build};
    }
  }
  return newest_of_old ? linker_too_old(*newest_of_old, needed) : no_linker(folders);
}

Result<LinkerCandidate> find_linker(const CompilerCandidate& compiler, const CompilerSearch& search) {
  return linker_in(compiler, linker_folders(compiler, search));
}

}  // namespace cubinet
