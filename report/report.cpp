// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/base/units.hpp>
#include <cubinet/report.hpp>
#include <cubinet/report/benchmark_section.hpp>
#include <cubinet/report/page.hpp>
#include <cubinet/report/store_sections.hpp>
#include <cubinet/report/subjects.hpp>
#include <cubinet/report/workload_section.hpp>
#include <cubinet/session/open_stores.hpp>

#include <algorithm>

namespace cubinet {
namespace {

// The stores that the workloads of a report are compared with.
struct ComparedStores {
  std::vector<std::shared_ptr<Store>> stores;
  std::string names;
};

Result<ComparedStores> compared_stores(const SessionOptions& session, const std::vector<Subject>& subjects) {
  ComparedStores compared;
  std::vector<std::string> names;
  for (const Subject& subject : subjects) {
    const auto store = store_of(subject);
    if (store != nullptr) compared.stores.push_back(store);
  }
  if (compared.stores.empty()) {
    SessionOptions options = session;
    options.home_access = HomeOptions::Access::read_only;
    options.home_required = false;  // one that does not exist yet has no builds
    options.caches = {};
    CUBINET_TRY_ASSIGN(OpenedStores opened, open_stores(options));
    compared.stores = std::move(opened.stores);
  }
  for (const auto& store : compared.stores)
    names.push_back(store->description().place);
  compared.names = names.empty() ? "any store" : join(names, " and ");
  return compared;
}

// Makes the section of each kind of subject.
class SectionMaker {
 public:
  SectionMaker(const SessionOptions& session, const std::vector<Subject>& subjects, std::int64_t now)
      : session_(session), subjects_(subjects), now_(now) {}

  Result<Section> operator()(const HomeSubject& subject) {
    return home_section(session_, subject.home, now_);
  }
  Result<Section> operator()(const BundleSubject& subject) {
    return bundle_section(session_, subject.store, subject.bundle, now_);
  }
  Result<Section> operator()(const BenchmarkSubject& subject) {
    return benchmark_section(subject.file, subject.results);
  }
  Result<Section> operator()(const WorkloadSubject& subject) {
    if (runtime_ == nullptr) {
      CUBINET_TRY_ASSIGN(ComparedStores compared, compared_stores(session_, subjects_));
      CUBINET_TRY_ASSIGN(runtime_, runtime_over(session_, std::move(compared.stores)));
      names_ = std::move(compared.names);
    }
    return workload_section(subject.file, subject.workload, *runtime_, session_.targets, names_);
  }

 private:
  const SessionOptions& session_;
  const std::vector<Subject>& subjects_;
  std::int64_t now_;
  std::shared_ptr<Runtime> runtime_;  // of the workloads; made for the first of them
  std::string names_;
};

}  // namespace

Result<std::string> html_report(const SessionOptions& session, const std::vector<std::string>& subjects) {
  std::vector<Subject> opened;
  for (const std::string& place : subjects) {
    CUBINET_TRY_ASSIGN(opened.emplace_back(), open_subject(session, place));
  }
  if (subjects.empty()) {
    CUBINET_TRY_ASSIGN(auto home, open_home(session, HomeOptions::Access::read_only));
    opened.emplace_back(HomeSubject{std::move(home)});
  }
  const std::int64_t now = seconds_since_1970();
  SectionMaker maker(session, opened, now);
  std::vector<Section> sections;
  for (const Subject& subject : opened) {
    CUBINET_TRY_ASSIGN(sections.emplace_back(), std::visit(maker, subject));
  }
  return report_page(sections, now);
}

}  // namespace cubinet
