// SPDX-License-Identifier: Apache-2.0
#include "console.hpp"

#include "tool_terms.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/json.hpp>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace cubinet::cli {
namespace {

struct LevelStyle {
  const char* name;
  const char* color;
};

LevelStyle style_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return {"debug", "\x1b[2m"};
    case LogLevel::info:
      return {"", ""};
    case LogLevel::warning:
      return {"warning", "\x1b[33m"};
    case LogLevel::error:
      return {"error", "\x1b[31m"};
  }
  return {"", ""};
}

bool leads_anywhere(int stream) {
  struct stat info {};
  if (::fstat(stream, &info) != 0) return false;
  return !S_ISCHR(info.st_mode) || info.st_rdev != ::makedev(1, 3);  // Linux gives /dev/null this number
}

}  // namespace

Console::Console(Color color, std::string* output)
    : output_(output), terminal_(::isatty(STDERR_FILENO) == 1), heard_(leads_anywhere(STDERR_FILENO)) {
  color_ = terminal_ && color == Color::automatic;
}

void Console::write(std::FILE* stream, std::string_view text) {
  errno = 0;
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), stream);
  if (written != text.size() && stream == stdout && stdout_error_ == 0)
    stdout_error_ = errno == 0 ? EIO : errno;
}

void Console::write_data(std::string_view text) {
  if (output_ == nullptr) return write(stdout, text);
  output_->append(text);
}

void Console::text(std::string_view text) {
  if (json()) return;
  const std::lock_guard lock(mutex_);
  erase_status_line();
  write_data(printable_lines(in_tool_terms(text)));
  write_data("\n");
}

void Console::document(const nlohmann::json& document) {
  if (json()) document_text(json_text(document));
}

void Console::document_text(std::string_view json) {
  if (!this->json()) return;
  const std::lock_guard lock(mutex_);
  erase_status_line();
  write_data(in_tool_terms(json));
  write_data("\n");
}

void Console::raw(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  write_data(bytes);
}

void Console::message(LogLevel level, std::string_view text) {
  record({level, text});
}

void Console::record(const LogRecord& record) {
  if (record.level == LogLevel::info && verbosity_ < 1) return;
  if (record.level == LogLevel::debug && verbosity_ < 2) return;
  const std::string text = in_tool_terms(record.message);
  if (log_format_ == LogFormat::json) return write_line(log_line({record.level, text, record.fields}));
  const LevelStyle style = style_of(record.level);
  std::string line = "cubinet: ";
  if (*style.name != '\0') {
    line += color_ ? fmt::format("{}{}:\x1b[0m ", style.color, style.name) : fmt::format("{}: ", style.name);
  }
  write_line(line + printable(text));
}

void Console::note(std::string_view text) {
  const std::string message = in_tool_terms(text);
  if (log_format_ == LogFormat::json) return write_line(log_line({LogLevel::info, message}));
  write_line(printable(message));
}

void Console::note_document(std::string_view event, std::string_view message,
                            const nlohmann::json& document) {
  nlohmann::ordered_json line = nlohmann::ordered_json::object();
  if (log_format_ == LogFormat::json) {
    const LogField field = {"event", event};
    line = nlohmann::ordered_json::parse(log_line({LogLevel::info, in_tool_terms(message), {&field, 1}}));
  }
  line.update(document);
  write_line(printable_json(line.dump()));
}

void Console::write_line(std::string_view line) {
  const std::lock_guard lock(mutex_);
  erase_status_line();
  write(stderr, line);
  write(stderr, "\n");
  if (!status_line_.empty()) write(stderr, status_line_);
}

void Console::error(const Error& error) {
  if (log_format_ == LogFormat::json) {
    const std::string remedy = in_tool_terms(error.remedy);
    const std::array<LogField, 4> fields = {LogField{"event", "error"},
                                            LogField{"code", cubinet::to_string(error.code)},
                                            LogField{"remedy", remedy}, LogField{"detail", error.detail}};
    return record({LogLevel::error, error.message, fields});
  }
  message(LogLevel::error, error.message);
  if (!error.remedy.empty()) note("  " + error.remedy);
  if (!error.detail.empty()) log(error.detail);
}

void Console::log(std::string_view text) {
  if (log_format_ == LogFormat::json) return write_line(log_line({LogLevel::info, text}));
  const std::lock_guard lock(mutex_);
  erase_status_line();
  write(stderr, printable_lines(text));
  if (!text.ends_with('\n')) write(stderr, "\n");
}

LogSink Console::log_sink() {
  return [this](const LogRecord& received) { record(received); };
}

void Console::show_status_line(std::string line) {
  if (!terminal_) return;
  const std::lock_guard lock(mutex_);
  erase_status_line();
  status_line_ = std::move(line);
  write(stderr, status_line_);
  std::fflush(stderr);
}

void Console::clear_status_line() {
  const std::lock_guard lock(mutex_);
  erase_status_line();
  status_line_.clear();
}

void Console::erase_status_line() {
  if (!status_line_.empty()) write(stderr, "\r\x1b[K");
}

Result<void> Console::finish() {
  const std::lock_guard lock(mutex_);
  if (output_ != nullptr) return {};
  errno = 0;
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (lost && stdout_error_ == 0) stdout_error_ = errno == 0 ? EIO : errno;
  if (stdout_error_ == 0) return {};
  return io_error("cannot write to the standard output", stdout_error_);
}

}  // namespace cubinet::cli
