// SPDX-License-Identifier: Apache-2.0
#include "log.hpp"

#include "conversions.hpp"
#include "errors.hpp"
#include "text.hpp"

#include <atomic>
#include <new>
#include <string>

namespace cubinet_python {
namespace {

namespace nb = nanobind;

struct Line {
  std::int32_t level;
  std::string text;
  std::string fields;
  Line* next;
};

// The newest line first. A list without a lock stays usable in a forked child.
std::atomic<Line*> newest_line = nullptr;
std::atomic<bool> delivery_requested = false;
std::atomic<bool> stopped = false;

// The import of cubinet.logs, and handlers, run Python code, in which the interpreter may make the
// pending call: this thread then delivers already.
thread_local bool delivers = false;

void queue(Line* line) {
  line->next = newest_line.load(std::memory_order_relaxed);
  while (!newest_line.compare_exchange_weak(line->next, line)) {
  }
}

int deliver_when_asked(void*) {
  delivery_requested.store(false);
  deliver_log_lines();
  return 0;
}

void request_delivery() {
  // The interpreter has a short list of pending calls. If it is full, a later call delivers.
  if (!delivery_requested.exchange(true) && Py_AddPendingCall(deliver_when_asked, nullptr) != 0)
    delivery_requested.store(false);
}

void receive(void*, std::int32_t level, cubinet_string message, cubinet_string fields) {
  if (stopped.load(std::memory_order_relaxed)) return;
  Line* const line =
      new (std::nothrow) Line{level, std::string(view_of(message)), std::string(view_of(fields)), nullptr};
  if (line == nullptr) return;
  queue(line);
  request_delivery();
}

// Returns the queued lines, the oldest first.
Line* take_lines() {
  Line* line = newest_line.exchange(nullptr);
  Line* oldest = nullptr;
  while (line != nullptr) {
    Line* const next = line->next;
    line->next = oldest;
    oldest = line;
    line = next;
  }
  return oldest;
}

// Returns false if the program's own import of cubinet.logs has not ended.
bool deliver(const Line& line) {
  try {
    const nb::module_ logs = nb::module_::import_("cubinet.logs");
    if (!nb::hasattr(logs, "emit")) return false;
    const nb::object text = nb::steal(
        PyUnicode_DecodeUTF8(line.text.data(), static_cast<Py_ssize_t>(line.text.size()), "replace"));
    logs.attr("emit")(line.level, text, nb::str(line.fields.data(), line.fields.size()));
  } catch (nb::python_error& error) {
    // An interrupt that arrives while a handler runs is meant for the program.
    if (error.matches(PyExc_KeyboardInterrupt))
      PyErr_SetInterrupt();
    else
      error.discard_as_unraisable("cubinet: a handler of log lines");
  }
  return true;
}

// Delivers the lines that are queued now. Those that handlers add, and those that cannot be
// delivered yet, are left to a pending call.
void deliver_queued() {
  bool delivered = true;
  for (Line* line = take_lines(); line != nullptr;) {
    Line* const next = line->next;
    delivered = delivered && deliver(*line);
    if (delivered)
      delete line;
    else
      queue(line);
    line = next;
  }
  if (newest_line.load(std::memory_order_relaxed) != nullptr) request_delivery();
}

}  // namespace

void send_log_to_python(cubinet_config* config) {
  cubinet_log_callback callback = CUBINET_LOG_CALLBACK_INIT;
  callback.record = receive;
  cubinet_error* error = nullptr;
  if (cubinet_config_set_log(config, &callback, &error) != CUBINET_OK) raise(error);
}

void deliver_log_lines() {
  if (delivers || newest_line.load(std::memory_order_relaxed) == nullptr) return;
  delivers = true;
  // A handler's exception must not replace one that is being raised.
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  deliver_queued();
  PyErr_Restore(type, value, traceback);
  delivers = false;
}

void stop_log() {
  deliver_log_lines();
  stopped.store(true);
}

}  // namespace cubinet_python
