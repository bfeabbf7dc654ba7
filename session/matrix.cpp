// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/json_object.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/parameter_json.hpp>
#include <cubinet/session/matrix.hpp>
#include <cubinet/session/template_files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>
#include <tuple>

namespace cubinet {
namespace {

constexpr const char* kShape =
    R"(a matrix is {"kernels": [{"template": NAME, "parameters": {NAME: [VALUES]}, "targets": [TARGETS]}]})";

Error wrong(std::string_view where, std::string_view what) {
  return Error{ErrorCode::invalid_argument, fmt::format("{}: {}", where, what), kShape};
}

Result<ParameterValue> parse_matrix_value(const JsonValue& value, const std::string& where) {
  auto parsed = parameter_value_from_json(value);
  if (!parsed) return wrong(where, parsed.error().message);
  return parsed;
}

Result<std::vector<ParameterValue>> parse_values(const JsonValue& values, const std::string& where) {
  std::vector<ParameterValue> parsed;
  if (!values.is_list()) {
    CUBINET_TRY_ASSIGN(parsed.emplace_back(), parse_matrix_value(values, where));
    return parsed;
  }
  if (values.items().empty()) return wrong(where, "the list of values is empty");
  for (const JsonValue& value : values.items()) {
    CUBINET_TRY_ASSIGN(parsed.emplace_back(), parse_matrix_value(value, where));
  }
  return parsed;
}

Result<std::vector<ImageTarget>> parse_element_targets(const JsonValue& targets, const std::string& where) {
  if (!targets.is_list() || targets.items().empty())
    return wrong(where, "the targets are no list, or an empty one");
  std::vector<ImageTarget> parsed;
  for (const JsonValue& name : targets.items()) {
    if (!name.is_text()) return wrong(where, "a target is not a string");
    auto target = ImageTarget::parse(name.text());
    if (!target) {
      Error error = target.error();
      error.message = where + ": " + error.message;
      return error;
    }
    parsed.push_back(*target);
  }
  return parsed;
}

Result<MatrixElement> parse_element(const JsonValue& value, const std::string& where) {
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(value, where));
  MatrixElement element;
  CUBINET_TRY_ASSIGN(element.template_name, object.text("template"));
  if (object.has("parameters")) {
    CUBINET_TRY_ASSIGN(const JsonValue* parameters, object.get("parameters"));
    if (!parameters->is_object()) return object.error("'parameters' is no object");
    for (const auto& parameter : parameters->members()) {
      CUBINET_TRY_ASSIGN(element.parameters[parameter.name],
                         parse_values(parameter.value, where + ".parameters." + parameter.name));
    }
  }
  CUBINET_TRY_ASSIGN(const JsonValue* targets, object.get("targets"));
  CUBINET_TRY_ASSIGN(element.targets, parse_element_targets(*targets, where + ".targets"));
  CUBINET_TRY(object.finish());
  return element;
}

Result<std::vector<MatrixElement>> parse_elements(std::string_view text, const std::string& origin) {
  const auto document = parse_json(text);
  if (!document)
    return wrong(fmt::format("{}:{}", origin, document.error().native), document.error().message);
  CUBINET_TRY_ASSIGN(JsonObject object, JsonObject::open(*document, origin));
  CUBINET_TRY_ASSIGN(const JsonValue* kernels, object.get("kernels"));
  CUBINET_TRY(object.finish());
  if (!kernels->is_list() || kernels->items().empty())
    return object.error("'kernels' is no list, or an empty one");
  std::vector<MatrixElement> elements;
  for (std::size_t i = 0; i < kernels->items().size(); ++i) {
    CUBINET_TRY_ASSIGN(elements.emplace_back(),
                       parse_element(kernels->items()[i], fmt::format("{}: kernels[{}]", origin, i)));
  }
  return elements;
}

}  // namespace

Result<std::vector<MatrixElement>> parse_matrix(std::string_view text, std::string_view origin) {
  auto elements = parse_elements(text, std::string(origin));
  if (elements || !elements.error().remedy.empty()) return elements;
  Error error = std::move(elements).error();
  error.remedy = kShape;
  return error;
}

namespace {

Result<std::uint64_t> count_combinations(const std::vector<MatrixElement>& elements) {
  const Error too_many{ErrorCode::invalid_argument,
                       fmt::format("the matrix stands for more than {} combinations", kMaximumCombinations),
                       "split it into several"};
  std::uint64_t total = 0;
  for (const MatrixElement& element : elements) {
    std::uint64_t count = element.targets.size();
    for (const auto& [name, values] : element.parameters) {
      count *= values.size();
      if (count > kMaximumCombinations) return too_many;
    }
    total += count;
    if (total > kMaximumCombinations) return too_many;
  }
  return total;
}

// Returns every combination of one value per parameter. The last parameter changes fastest.
std::vector<KernelSpec> combinations(const MatrixElement& element) {
  std::vector<KernelSpec> specs(1);
  specs.front().name = element.template_name;
  for (const auto& [name, values] : element.parameters) {
    std::vector<KernelSpec> extended;
    for (const KernelSpec& spec : specs) {
      for (const ParameterValue& value : values)
        extended.emplace_back(spec).set(name, value);
    }
    specs = std::move(extended);
  }
  return specs;
}

}  // namespace

Result<MatrixExpansion> expand_matrix(const std::vector<MatrixElement>& elements,
                                      const TemplateCatalog& catalog, const CompilerOptions& options) {
  CUBINET_TRY(count_combinations(elements));
  MatrixExpansion expansion;
  std::set<std::pair<ImageKind, Bytes>> seen;
  for (const MatrixElement& element : elements) {
    CUBINET_TRY_ASSIGN(const auto kernel_template, catalog.find(element.template_name));
    for (const auto& parameter : element.parameters)
      CUBINET_TRY(check_parameter_name(*kernel_template, parameter.first));
    for (KernelSpec& spec : combinations(element)) {
      spec.options = options;
      const auto resolved = kernel_template->resolve(spec);
      for (const ImageTarget target : element.targets) {
        const auto allowed = resolved ? kernel_template->check_target(*resolved, target.target, target.kind)
                                      : Result<void>(resolved.error());
        if (!allowed) {
          expansion.refused.push_back({{spec, target}, allowed.error()});
          continue;
        }
        KernelIdentity identity = identify(*resolved, target.target);
        if (!seen.insert({target.kind, identity.encoding()}).second) continue;
        expansion.kernels.push_back({spec, *resolved, target, std::move(identity)});
      }
    }
  }
  return expansion;
}

Result<MatrixShard> MatrixShard::parse(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto number = [](std::string_view digits, std::uint64_t maximum) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, status] = std::from_chars(digits.data(), end, value);
    if (status != std::errc{} || stop != end || value < 1 || value > maximum) return std::nullopt;
    return value;
  };
  const auto count = number(text.substr(std::min(slash + 1, text.size())), kMaximumCombinations);
  const auto index = number(text.substr(0, slash), count.value_or(kMaximumCombinations));
  if (count && index) return MatrixShard{*index, *count};
  return Error{
      ErrorCode::invalid_argument, fmt::format("'{}' is not a part of a matrix", printable(text, 40)),
      fmt::format("write 1/4 for the first of four parts; there are at most {}", kMaximumCombinations)};
}

std::string MatrixShard::to_string() const {
  return fmt::format("{}/{}", index, count);
}

std::vector<MatrixKernel> take_shard(std::vector<MatrixKernel> kernels, MatrixShard shard) {
  std::vector<std::size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto place = [&](std::size_t i) -> std::tuple<KernelKey, const Bytes&, ImageKind> {
    return {kernels[i].identity.key(), kernels[i].identity.encoding(), kernels[i].target.kind};
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  std::vector<bool> taken(kernels.size(), false);
  for (std::size_t i = shard.index - 1; i < order.size(); i += shard.count)
    taken[order[i]] = true;
  std::vector<MatrixKernel> part;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (taken[i]) part.push_back(std::move(kernels[i]));
  }
  return part;
}

}  // namespace cubinet
