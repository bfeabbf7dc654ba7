// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"

#include <cubinet/cubinet.h>

#include <deque>
#include <string>
#include <vector>

namespace cubinet_python {

// A template's name and values of its parameters, from a dict. A bool is a flag, an int an integer,
// a float a number of single precision, a str a type or a choice, and a list or tuple a list of
// one of these kinds of numbers. Raises TypeError for anything else.
class SpecificationValues {
 public:
  SpecificationValues(std::string template_name, nanobind::dict parameters);
  SpecificationValues(const SpecificationValues&) = delete;
  SpecificationValues& operator=(const SpecificationValues&) = delete;

  cubinet_status resolve(cubinet_runtime* runtime, cubinet_kernel** kernel, cubinet_error** error) const;

 private:
  void add(const std::string& name, nanobind::handle value);
  void add_list(const std::string& name, nanobind::handle list, cubinet_value& value);

  std::string template_name_;
  // Deques, because the values refer to their elements.
  std::deque<std::string> texts_;
  std::deque<std::vector<std::int64_t>> integers_;
  std::deque<std::vector<double>> numbers_;
  std::vector<std::pair<std::string, cubinet_value>> values_;
};

}  // namespace cubinet_python
