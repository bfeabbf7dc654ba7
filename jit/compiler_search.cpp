// SPDX-License-Identifier: Apache-2.0
#include "compiler_search.hpp"

#include <cubinet/base/file_system.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using Source = CompilerCandidate::Source;

constexpr std::array<std::string_view, 2> kSonames = {"libnvrtc.so.13", "libnvrtc.so.12"};
constexpr std::string_view kTooOld = "libnvrtc.so.11.2";  // of CUDA 11.2 to 11.8
constexpr std::string_view kLibraryPrefix = "libnvrtc.so.";
constexpr std::string_view kBuiltinsPrefix = "libnvrtc-builtins.so.";

// Returns each folder once. Variables often name the usual folder.
std::vector<CompilerPlace> places_of(const CompilerSearch& search) {
  std::vector<CompilerPlace> places;
  const auto add = [&](Source source, fs::path folder) {
    const bool known = std::any_of(places.begin(), places.end(),
                                   [&](const CompilerPlace& place) { return place.folder == folder; });
    if (!known) places.push_back({source, std::move(folder)});
  };
  const auto add_toolkits = [&](const std::vector<std::string>& roots) {
    for (const fs::path root : roots) {
      add(Source::toolkit, root / "lib64");
      add(Source::toolkit, root / "lib");
    }
  };
  add_toolkits(search.toolkit_roots);
  for (const fs::path root : search.wheel_roots) {
    add(Source::wheel, root / "nvidia/cu13/lib");        // nvidia-cuda-nvrtc
    add(Source::wheel, root / "nvidia/cuda_nvrtc/lib");  // nvidia-cuda-nvrtc-cu12
  }
  add_toolkits(search.usual_toolkits);
  for (fs::path& folder : dynamic_loader_search_path())
    add(Source::library_path, std::move(folder));
  return places;
}

// Returns the version after the prefix: "13", "13.0" or "13.0.88".
std::optional<NvrtcVersion> version_after(std::string_view file_name, std::string_view prefix) {
  if (!file_name.starts_with(prefix)) return std::nullopt;
  const char* const end = file_name.data() + file_name.size();
  NvrtcVersion version;
  auto [at, error] = std::from_chars(file_name.data() + prefix.size(), end, version.major);
  if (error != std::errc()) return std::nullopt;
  if (at == end || *at != '.') return version;
  if (std::from_chars(at + 1, end, version.minor).ec != std::errc()) return std::nullopt;
  return version;
}

// Returns the builtins of the library's release if its file name contains it
// ("libnvrtc.so.12.4.127"), otherwise the newest of its major release.
fs::path builtins_beside(const fs::path& library) {
  const std::string name = library.filename().string();
  const auto wanted = version_after(name, kLibraryPrefix);
  const bool minor_told = std::count(name.begin(), name.end(), '.') > 2;
  const fs::path folder = library.parent_path();
  const auto listing = posix_file_system()->list(folder);
  if (!listing) return {};
  std::string best;
  NvrtcVersion best_version;
  for (const std::string& file : listing->names) {
    const auto version = version_after(file, kBuiltinsPrefix);
    if (!version || (wanted && version->major != wanted->major)) continue;
    if (wanted && minor_told && version->minor == wanted->minor) return folder / file;
    if (best.empty() || *version > best_version) {
      best = file;
      best_version = *version;
    }
  }
  return best.empty() ? fs::path() : folder / best;
}

void add_candidate(std::vector<CompilerCandidate>& candidates, Source source, const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return;
  // One file reached by several links is one compiler; NVRTC looks for its builtins beside the real
  // one.
  const fs::path library = fs::canonical(file, error);
  if (error) return;
  const bool known = std::any_of(candidates.begin(), candidates.end(),
                                 [&](const CompilerCandidate& other) { return other.library == library; });
  if (known) return;
  const fs::path builtins = builtins_beside(library);
  candidates.push_back({source, library, builtins});
}

}  // namespace

std::string_view to_string(Source source) {
  switch (source) {
    case Source::option:
      return "option";
    case Source::toolkit:
      return "toolkit";
    case Source::wheel:
      return "wheel";
    case Source::library_path:
      return "library path";
  }
  return "option";
}

std::vector<CompilerCandidate> compilers_in(const std::vector<CompilerPlace>& places) {
  std::vector<CompilerCandidate> candidates;
  for (const CompilerPlace& place : places) {
    for (const std::string_view soname : kSonames)
      add_candidate(candidates, place.source, place.folder / soname);
  }
  if (!candidates.empty()) return candidates;
  // A compiler that is too old is refused by name, which is better than not found.
  for (const CompilerPlace& place : places)
    add_candidate(candidates, place.source, place.folder / kTooOld);
  return candidates;
}

std::vector<CompilerCandidate> find_compilers(const CompilerSearch& search) {
  if (!search.library) return compilers_in(places_of(search));
  std::vector<CompilerCandidate> candidates;
  add_candidate(candidates, Source::option, *search.library);
  return candidates;
}

std::vector<std::string> places_searched(const CompilerSearch& search) {
  if (search.library) return {*search.library};
  std::vector<std::string> folders;
  for (const CompilerPlace& place : places_of(search))
    folders.push_back(place.folder);
  return folders;
}

std::optional<NvrtcVersion> version_by_file_name(const CompilerCandidate& candidate) {
  const auto builtins = version_after(fs::path(candidate.builtins).filename().string(), kBuiltinsPrefix);
  return builtins ? builtins : version_after(fs::path(candidate.library).filename().string(), kLibraryPrefix);
}

std::vector<std::string> header_folders(const CompilerCandidate& candidate) {
  const fs::path lib = fs::path(candidate.library).parent_path();
  const fs::path above = lib.parent_path();
  std::vector<std::string> folders;
  // A toolkit and a wheel of CUDA 13 have one folder. Wheels of CUDA 12 have a folder each.
  for (const fs::path& folder :
       {above / "include", above / "include/cccl", above.parent_path() / "cuda_runtime/include",
        above.parent_path() / "cuda_cccl/include"}) {
    std::error_code error;
    // A distribution's NVRTC is beside the C library's headers, which are not searched.
    if (fs::is_directory(folder, error) && folder != "/usr/include") folders.push_back(folder);
  }
  return folders;
}

bool are_complete(const std::vector<std::string>& header_folders) {
  const std::array<std::string_view, 2> representatives = {"cuda_fp16.h", "cuda/std/cstdint"};
  return std::all_of(representatives.begin(), representatives.end(), [&](std::string_view header) {
    return std::any_of(header_folders.begin(), header_folders.end(), [&](const fs::path folder) {
      std::error_code error;
      return fs::exists(folder / header, error);
    });
  });
}

std::vector<std::string> library_folders(const CompilerCandidate& candidate) {
  const fs::path lib = fs::path(candidate.library).parent_path();
  const fs::path wheels = lib.parent_path().parent_path();
  std::vector<std::string> folders = {lib.string()};
  if (wheels.filename() == "nvidia") folders.push_back((wheels / "cuda_runtime/lib").string());
  return folders;
}

}  // namespace cubinet
