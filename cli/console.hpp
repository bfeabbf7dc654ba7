// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/session/log_json.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

namespace cubinet::cli {

enum class OutputFormat { text, json };
enum class Color { automatic, never };

// The two streams of the tool: data on stdout, messages on stderr. All functions except raw()
// escape their output with printable(), printable_lines() or printable_json(), so that no file can
// drive the terminal. Each message is one line. A name in a `text` must have passed through
// printable(). Thread-safe.
class Console {
 public:
  // Data is appended to `output`, or written to stdout if it is null.
  explicit Console(Color color, std::string* output = nullptr);

  void set_format(OutputFormat format) { format_ = format; }
  // json: each message is a line of log_line(), which has the error's remedy and detail as fields.
  void set_log_format(LogFormat format) { log_format_ = format; }
  void set_verbosity(int verbosity) { verbosity_ = verbosity; }
  bool json() const { return format_ == OutputFormat::json; }
  bool verbose() const { return verbosity_ > 0; }
  bool owns_stdout() const { return output_ == nullptr; }  // whether data goes to stdout
  bool terminal() const { return terminal_; }              // whether stderr is a terminal
  // Returns whether stderr is open and is not the null device.
  bool heard() const { return heard_; }

  // Write data to stdout. In JSON format `text` is dropped; in text format `document` and
  // `document_text` are dropped. A verb calls both kinds, and one is printed.
  void text(std::string_view text);
  void document(const nlohmann::json& document);
  void document_text(std::string_view json);
  // Writes the bytes to stdout without escaping, in either format.
  void raw(std::string_view bytes);

  // Writes a line to stderr at every verbosity.
  void note(std::string_view text);
  // Writes a result to stderr at every verbosity, for commands whose stdout is not the tool's: the
  // JSON object on one line. In the JSON log format it has the members of a log record, too.
  void note_document(std::string_view event, std::string_view message, const nlohmann::json& document);
  // Writes lines, such as a compiler's log, to stderr at every verbosity.
  void log(std::string_view text);
  // Writes a message to stderr: warnings and errors always, info with -v, debug with -vv.
  void message(LogLevel level, std::string_view text);
  void error(const Error& error);
  LogSink log_sink();
  // Writes a log record like a message.
  void record(const LogRecord& record);

  // Shows a line at the bottom of the terminal, below the messages. Does nothing if stderr is not a
  // terminal.
  void show_status_line(std::string line);
  void clear_status_line();

  // Flushes stdout. Returns an error if anything that was written to it was lost.
  Result<void> finish();

 private:
  void erase_status_line();
  void write(std::FILE* stream, std::string_view text);
  void write_data(std::string_view text);
  void write_line(std::string_view line);

  std::mutex mutex_;
  std::string* output_ = nullptr;
  OutputFormat format_ = OutputFormat::text;
  LogFormat log_format_ = LogFormat::text;
  int verbosity_ = 0;
  bool terminal_ = false;
  bool heard_ = false;
  bool color_ = false;
  int stdout_error_ = 0;  // of the first write that failed
  std::string status_line_;
};

}  // namespace cubinet::cli
