// SPDX-License-Identifier: Apache-2.0
#include "local/survey.hpp"

namespace cubinet {

Result<Survey> survey_records(const FileStore& store) {
  Survey survey;
  CUBINET_TRY(
      store.for_each_record([&](const std::string& name, Result<StoredRecord> record) -> Result<void> {
        if (record) {
          survey.named.insert(record->record->digest);
          survey.records.emplace(name, *std::move(record));
        } else {
          const std::filesystem::path file = store.home().relative(store.home().record(name));
          const bool for_good = names_nothing(record.error());
          (for_good ? survey.damaged : survey.unreadable)
              .push_back({for_good ? StoreFinding::Kind::damaged_record : StoreFinding::Kind::unreadable_file,
                          file.native(), record.error().message});
        }
        return {};
      }));
  return survey;
}

}  // namespace cubinet
