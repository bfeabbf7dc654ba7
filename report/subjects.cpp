// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/absolute_path.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/distribution/server_store.hpp>
#include <cubinet/report/subjects.hpp>
#include <cubinet/session/open_stores.hpp>

#include <algorithm>
#include <filesystem>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBundleMagic = "CBUN";
constexpr std::string_view kWorkloadStart = R"({"cubinet_workload":)";
// The folders of a home, of which every home with content has one.
constexpr const char* kHomeFolders[] = {"records", "cubins", "imports", "channels"};

Error unknown_subject(const std::string& place, const std::string& reason) {
  return Error{ErrorCode::invalid_argument, "'" + place + "' cannot be reported: " + reason,
               "name a home, a bundle, a workload or the results of a benchmark"};
}

Result<Subject> open_home_subject(const SessionOptions& session, const std::string& place) {
  std::error_code unknown;
  const bool is_home = fs::is_empty(place, unknown) ||
                       std::any_of(std::begin(kHomeFolders), std::end(kHomeFolders), [&](const char* name) {
                         return fs::is_directory(fs::path(place) / name, unknown);
                       });
  if (!is_home) return unknown_subject(place, "the folder is no home");
  SessionOptions options = session;
  CUBINET_TRY_ASSIGN(const fs::path folder, absolute_path(place));
  options.home = folder.string();
  CUBINET_TRY_ASSIGN(auto home, open_home(options, HomeOptions::Access::read_only));
  return Subject(HomeSubject{std::move(home)});
}

Result<Subject> open_server_subject(const SessionOptions& session, const std::string& place) {
  SessionOptions options = session;
  options.home_access = HomeOptions::Access::read_only;
  options.site_homes = {};
  options.builtin_bundle = {};
  options.bundles = {{place}};
  options.caches = {};
  CUBINET_TRY_ASSIGN(const OpenedStores opened, open_stores(options));
  const std::shared_ptr<Store>& store = opened.stores.back();
  CUBINET_TRY(store->list());  // fetches the root
  auto bundle = bundle_of(store);
  if (bundle == nullptr) return unknown_subject(place, "the server sent no bundle");
  return Subject(BundleSubject{store, std::move(bundle)});
}

Result<Subject> open_json_subject(const std::string& file) {
  CUBINET_TRY_ASSIGN(const Bytes bytes, posix_file_system()->read(file, kMaximumResultsBytes));
  auto document = parse_json(as_text(bytes));
  if (!document) {
    Error error = unknown_subject(file, document.error().message);
    error.detail = document.error().detail;
    return error;
  }
  CUBINET_TRY_ASSIGN(BenchmarkResults results, BenchmarkResults::read(*document, file));
  return Subject(BenchmarkSubject{file, std::move(results)});
}

}  // namespace

Result<Subject> open_subject(const SessionOptions& session, const std::string& place) {
  if (place.empty()) return unknown_subject(place, "the name is empty");
  if (names_server(place)) return open_server_subject(session, place);
  std::error_code unknown;
  if (fs::is_directory(place, unknown)) return open_home_subject(session, place);
  CUBINET_TRY_ASSIGN(const Bytes begin, posix_file_system()->read_range(place, 0, kWorkloadStart.size()));
  const std::string_view text = as_text(begin);
  if (text.starts_with(kBundleMagic)) {
    CUBINET_TRY_ASSIGN(auto bundle, open_bundle_file(session, place));
    return Subject(BundleSubject{bundle, bundle});
  }
  if (text == kWorkloadStart) {
    CUBINET_TRY_ASSIGN(Workload workload, Workload::read(place));
    return Subject(WorkloadSubject{place, std::move(workload)});
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return open_json_subject(place);
  return unknown_subject(place, "the file is neither a bundle, nor a workload, nor JSON");
}

std::shared_ptr<Store> store_of(const Subject& subject) {
  if (const auto* home = std::get_if<HomeSubject>(&subject)) return home->home;
  if (const auto* bundle = std::get_if<BundleSubject>(&subject)) return bundle->store;
  return nullptr;
}

}  // namespace cubinet
