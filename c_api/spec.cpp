// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"
#include "structures.hpp"

#include <fmt/format.h>

namespace cubinet::c_api {
namespace {

template <class Element, class Source>
Result<ParameterValue> list_of(const Source* elements, std::size_t count, std::string_view member) {
  if (count > kMaximumListElements) {
    return Error{ErrorCode::invalid_argument, fmt::format("`value.count` is {}", count),
                 fmt::format("pass at most {}", kMaximumListElements)};
  }
  if (count != 0) CUBINET_TRY(check_pointer(elements, member));
  std::vector<Element> list;
  for (std::size_t i = 0; i < count; ++i)
    list.push_back(static_cast<Element>(elements[i]));
  return ParameterValue(std::move(list));
}

Result<ParameterValue> value_of(const cubinet_value& value) {
  switch (value.type) {
    case CUBINET_VALUE_BOOL:
      if (value.integer != 0 && value.integer != 1)
        return Error{ErrorCode::invalid_argument, fmt::format("`value.integer` is {}", value.integer),
                     "a bool is 0 or 1"};
      return ParameterValue(value.integer != 0);
    case CUBINET_VALUE_INTEGER:
      return ParameterValue(static_cast<std::int64_t>(value.integer));
    case CUBINET_VALUE_TEXT: {
      CUBINET_TRY_ASSIGN(std::string text, text_of(value.text, "value.text"));
      return ParameterValue(std::move(text));
    }
    case CUBINET_VALUE_FLOAT:
      return ParameterValue(static_cast<float>(value.number));
    case CUBINET_VALUE_DOUBLE:
      return ParameterValue(value.number);
    case CUBINET_VALUE_INTEGERS:
      return list_of<std::int64_t>(value.integers, value.count, "value.integers");
    case CUBINET_VALUE_FLOATS:
      return list_of<float>(value.numbers, value.count, "value.numbers");
    case CUBINET_VALUE_DOUBLES:
      return list_of<double>(value.numbers, value.count, "value.numbers");
    default:
      return Error{ErrorCode::invalid_argument, fmt::format("`value.type` is {}", value.type),
                   "use a CUBINET_VALUE_ constant"};
  }
}

}  // namespace
}  // namespace cubinet::c_api

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_spec_create(cubinet_string template_name, cubinet_spec** spec, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(spec, "spec"));
    CUBINET_TRY_ASSIGN(std::string name, text_of(template_name, "template_name"));
    auto created = std::make_unique<cubinet_spec>();
    created->spec.name = std::move(name);
    *spec = created.release();
    return {};
  });
}

cubinet_status cubinet_spec_set(cubinet_spec* spec, cubinet_string parameter, const cubinet_value* value,
                                cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(spec, "spec"));
    CUBINET_TRY_ASSIGN(const std::string name, text_of(parameter, "parameter"));
    if (name.empty())
      return Error{ErrorCode::invalid_argument, "`parameter` is empty", "name a parameter of the template"};
    const cubinet_value none = CUBINET_VALUE_INIT;
    CUBINET_TRY_ASSIGN(const cubinet_value given, read_structure(value, none, "value"));
    CUBINET_TRY_ASSIGN(ParameterValue converted, value_of(given));
    spec->spec.set(name, std::move(converted));
    return {};
  });
}

void cubinet_spec_release(cubinet_spec* spec) {
  delete spec;
}
