// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/json_object.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/base/units.hpp>
#include <cubinet/cubin_registry/journal.hpp>
#include <cubinet/session/journal_writer.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/utc_time.hpp>
#include <cubinet/session/workload_json.hpp>

#include <fmt/format.h>

namespace cubinet {
namespace {

nlohmann::json stores_json(const std::vector<JournalStore>& stores) {
  auto described = nlohmann::json::array();
  for (const JournalStore& store : stores)
    described.push_back({{"kind", store.kind}, {"place", store.place}, {"verdicts", store.verdicts}});
  return described;
}

nlohmann::json sources_json(const JournalSources& sources) {
  return {{"template_files", sources.template_files},
          {"include_directories", sources.include_directories},
          {"library_directories", sources.library_directories}};
}

nlohmann::json entry_json(const JournalEntry& entry) {
  return {{"process", entry.process},
          {"pid", entry.pid},
          {"host", entry.host},
          {"caller", entry.caller},
          {"kernel", entry.kernel},
          {"key", entry.key},
          {"target", entry.target},
          {"device", entry.device},
          {"capability", entry.capability},
          {"seconds", entry.seconds},
          {"compile_seconds", entry.compile_seconds},
          {"wait_seconds", entry.wait_seconds},
          {"load_seconds", entry.load_seconds},
          {"stores", stores_json(entry.stores)},
          {"nearest", entry.nearest}};
}

std::string compact(const nlohmann::json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Return the member's value, or an empty one if it has another type.
std::string text_of(const JsonValue& object, std::string_view name) {
  return printable(object.text_of(name));
}
double number_of(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  return value != nullptr && value->is_number() ? value->number() : 0;
}
std::int64_t integer_of(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  return value != nullptr ? value->integer().value_or(0) : 0;
}
const JsonValue::List& list_of(const JsonValue& object, std::string_view name) {
  static const JsonValue::List none;
  const JsonValue* value = object.find(name);
  return value != nullptr && value->is_list() ? value->items() : none;
}
std::vector<std::string> texts_of(const JsonValue& object, std::string_view name) {
  std::vector<std::string> texts;
  for (const JsonValue& item : list_of(object, name))
    if (item.is_text()) texts.push_back(printable(item.text()));
  return texts;
}

bool is_of(const JournalEntry& entry, const std::string& kernel) {
  return kernel.empty() || entry.key == kernel || entry.kernel.find(kernel) != std::string::npos;
}

}  // namespace

std::string journal_text(const JournalEntry& entry) {
  nlohmann::json object = entry_json(entry);
  const std::string without_spec = compact(object);
  if (!entry.spec) return without_spec;
  object["spec"] = spec_json(*entry.spec);
  if (!entry.sources.template_files.empty()) object["sources"] = sources_json(entry.sources);
  std::string whole = compact(object);
  return whole.size() <= HomeJournal::kMaximumLineBytes ? whole : without_spec;
}

Result<JournalEntry> parse_journal_text(std::string_view text) {
  CUBINET_TRY_ASSIGN(const JsonValue object, parse_json(text));
  if (!object.is_object()) return Error{ErrorCode::invalid_argument, "an entry of the journal is no object"};
  JournalEntry entry;
  entry.process = text_of(object, "process");
  entry.pid = integer_of(object, "pid");
  entry.host = text_of(object, "host");
  entry.caller = text_of(object, "caller");
  entry.kernel = text_of(object, "kernel");
  entry.key = text_of(object, "key");
  entry.target = text_of(object, "target");
  entry.device = integer_of(object, "device");
  entry.capability = text_of(object, "capability");
  entry.seconds = number_of(object, "seconds");
  entry.compile_seconds = number_of(object, "compile_seconds");
  entry.wait_seconds = number_of(object, "wait_seconds");
  entry.load_seconds = number_of(object, "load_seconds");
  entry.nearest = texts_of(object, "nearest");
  for (const JsonValue& store : list_of(object, "stores"))
    entry.stores.push_back({text_of(store, "kind"), text_of(store, "place"), texts_of(store, "verdicts")});
  if (const JsonValue* value = object.find("spec")) {
    if (auto spec = spec_of(*value, "the kernel")) entry.spec = *std::move(spec);
  }
  if (const JsonValue* value = object.find("sources"); value != nullptr && value->is_object())
    entry.sources = {texts_of(*value, "template_files"), texts_of(*value, "include_directories"),
                     texts_of(*value, "library_directories")};
  return entry;
}

std::string JournalEntry::remedy() const {
  return fmt::format(
      "prebuild it for {} (`prebuild()`), or add a bundle that has it (`SessionOptions::bundles`); a "
      "recorded workload has it too",
      target);
}

Result<JournalReport> read_journal(Home& home, const JournalQuery& query) {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  TimePoint since = TimePoint::min();
  if (!query.since.empty()) {
    CUBINET_TRY_ASSIGN(since, parse_since(query.since, now));
  }
  CUBINET_TRY_ASSIGN(const JournalLines lines, home.journal().read());
  JournalReport report;
  report.damaged = lines.damaged;
  report.newer = lines.newer;
  for (const JournalLine& line : lines.lines) {
    if (line.time < since) continue;
    auto entry = parse_journal_text(line.text);
    if (!entry) {
      ++report.damaged;
      continue;
    }
    entry->time = line.time;
    if (is_of(*entry, query.kernel)) report.entries.push_back(*std::move(entry));
  }
  return report;
}

std::string to_text(const JournalEntry& entry) {
  std::string text =
      fmt::format("{} {} {} on {}: {} for {} (device {}, {}) was compiled in {}", to_text(entry.time),
                  entry.process, entry.pid, entry.host, entry.kernel, entry.target, entry.device,
                  entry.capability, format_seconds(entry.compile_seconds));
  if (!entry.key.empty()) text += ", key " + entry.key;
  if (!entry.caller.empty()) text += ", for " + entry.caller;
  for (const JournalStore& store : entry.stores) {
    const std::string name = store.place.empty() ? store.kind : store.kind + " " + store.place;
    text += fmt::format("\n  {}: {}", name, store.verdicts.empty() ? "no build" : join(store.verdicts, "; "));
  }
  for (const std::string& near : entry.nearest)
    text += "\n  near: " + near;
  return text;
}

std::string to_json(const JournalReport& report) {
  nlohmann::json document = {
      {"entries", nlohmann::json::array()}, {"damaged", report.damaged}, {"newer", report.newer}};
  for (const JournalEntry& entry : report.entries) {
    nlohmann::json described = entry_json(entry);
    described["time"] = to_text(entry.time);
    described["parameters"] = nullptr;
    if (entry.spec) described.update(describe(*entry.spec));
    described["sources"] = sources_json(entry.sources);
    described["remedy"] = entry.remedy();
    document["entries"].push_back(std::move(described));
  }
  return json_text(document);
}

}  // namespace cubinet
