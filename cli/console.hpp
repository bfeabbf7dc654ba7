// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>

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
  explicit Console(Color color);

  void set_format(OutputFormat format) { format_ = format; }
  void set_verbosity(int verbosity) { verbosity_ = verbosity; }
  bool json() const { return format_ == OutputFormat::json; }
  bool verbose() const { return verbosity_ > 0; }
  bool terminal() const { return terminal_; }  // whether stderr is one
  // Whether stderr leads anywhere: it is open and not the null device.
  bool heard() const { return heard_; }

  // Data. `text` is dropped in JSON format, `document` and `document_text` in text format: a verb
  // writes both and one is printed.
  void text(std::string_view text);
  void document(const nlohmann::json& document);
  void document_text(std::string_view json);
  // Bytes on stdout as they are, in either format.
  void raw(std::string_view bytes);

  // A line on stderr, always.
  void note(std::string_view text);
  // Lines on stderr, always: what a compiler said.
  void log(std::string_view text);
  // A message on stderr: warnings and errors always, info with -v, debug with -vv.
  void message(LogLevel level, std::string_view text);
  void error(const Error& error);
  LogSink log_sink();

  // A line at the bottom of the terminal that messages do not disturb; nothing when stderr is no
  // terminal.
  void show_status_line(std::string line);
  void clear_status_line();

  // Flushes stdout; an error when anything that was written to it is lost.
  Result<void> finish();

 private:
  void erase_status_line();
  void write(std::FILE* stream, std::string_view text);
  void write_line(std::string_view line);

  std::mutex mutex_;
  OutputFormat format_ = OutputFormat::text;
  int verbosity_ = 0;
  bool terminal_ = false;
  bool heard_ = false;
  bool color_ = false;
  int stdout_error_ = 0;  // of the first write that failed
  std::string status_line_;
};

// Has nothing read from, and nothing written to, the standard streams that are closed: a file that
// is opened later would take a stream's number, and a message would be written into it.
void occupy_closed_streams();

}  // namespace cubinet::cli
