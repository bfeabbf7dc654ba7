// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/kernel_spec.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

enum class ParameterType {
  integer,
  flag,
  data_type,
  choice,
  float32,
  float64,
  string,
  type_name,   // a C++ type
  identifier,  // a C++ name
  integer_list,
  float32_list,
  float64_list,
};

// "int", "bool", "dtype", "choice", "float", "double", "string", "type", "identifier", "int[]" …
std::string_view to_string(ParameterType type);

// What a template says of one of its parameters.
struct ParameterDeclaration {
  std::string name;
  std::string summary;
  ParameterType type = ParameterType::integer;
  std::string macro;  // the source sees it as this macro; empty: as a constant of its name
  std::optional<ParameterValue> default_value;
  std::string default_expression;         // instead; without any the caller must give a value
  std::vector<ParameterValue> values;     // allowed values; empty: any of the type, or of the integer range
  std::optional<ParameterValue> minimum;  // of numbers without `values`; of the type
  std::optional<ParameterValue> maximum;
  std::int64_t multiple_of = 1;  // of integers

  // "one of 64, 128, 256"; "8 to 65536, a multiple of 8".
  std::string allowed() const;
  // The word by which the source uses it.
  const std::string& word() const { return macro.empty() ? name : macro; }
};

// The description of one kernel's launch in a template's declaration, for people. An empty text is not
// stated.
struct KernelInterface {
  std::string kernel;
  std::string grid;             // "ceil(rows / rows_per_block)"
  std::string argument;         // the C++ name of the by-value argument structure
  std::string argument_header;  // the header that defines it, as #include names it
};

// A text that is included before the first line of a source (a pre-include, nvcc's -include).
struct Prelude {
  std::string name;  // a file's, without a folder: the name in messages and in __FILE__
  std::string text;
  std::string folder;  // where its quoted headers are searched first; empty: nowhere

  friend bool operator==(const Prelude&, const Prelude&) = default;
};

// The file that a declaration extends.
struct DeclarationBase {
  std::string name;  // a file beside the declaration; empty: none
  std::string text;
};

// A kernel template: CUDA C++ source whose head declares its name, interface version, parameters, constraints
// and kernels (docs/formats/template.md). Ours and the user's are the same. Immutable and thread-safe; shared
// by pointer.
class KernelTemplate {
 public:
  // `origin` names the text that holds the declaration in messages (a file name); `folder` is where quoted
  // headers of the source are looked for first, nowhere when empty. `declaration`, JSON, is that of a source
  // without one: the source then includes the generated header before its first line. `read_source` returns
  // the text of a file that the declaration names as its `base` or among its `sources`; it is called while
  // this runs. invalid_argument states what is wrong with the declaration and where.
  static Result<std::shared_ptr<const KernelTemplate>> parse(
      std::string source, std::string_view origin, std::string folder = {},
      std::optional<std::string_view> declaration = {},
      const Callback<Result<std::string>(const std::string&)>& read_source = {});
  virtual ~KernelTemplate() = default;

  virtual const std::string& name() const = 0;
  virtual const std::string& summary() const = 0;
  // Bumped by the author whenever the argument structure or its meaning changes: a cubin built for another
  // version is never launched.
  virtual std::uint32_t interface_version() const = 0;
  virtual const std::string& source() const = 0;
  // What the compiler calls the source, in its messages and as __FILE__.
  virtual std::string file_name() const { return name() + ".cu"; }
  virtual const std::string& folder() const = 0;
  // From memory, by the name with which they are included; found before files, but for a quoted one's
  // neighbour.
  virtual const std::map<std::string, std::string>& headers() const = 0;
  virtual const std::vector<ParameterDeclaration>& parameters() const = 0;
  // The words of parameters that neither the source nor an expression of the declaration has: unless a header
  // has them, the code does not depend on them, and one code would have several keys.
  virtual const std::vector<std::string>& unused_words() const = 0;
  virtual SmTarget minimum_target() const = 0;
  // What combinations of values have to meet, a sentence each, for people; resolve() checks them.
  virtual const std::vector<std::string>& constraints() const = 0;

  // Checks every parameter and every constraint and fills in the defaults. invalid_argument names the
  // parameter and what it allows; nothing is rounded. The result is complete: `identify` it.
  virtual Result<KernelSpec> resolve(const KernelSpec& spec) const = 0;
  // REQUIRES: `resolved` comes from resolve(). The functions that the source defines under these parameters,
  // with threads and shared memory computed. `symbol` is empty for those that a C++ name expression names:
  // the compiler tells it.
  virtual Result<std::vector<EntryPoint>> entry_points(const KernelSpec& resolved) const = 0;
  // REQUIRES: `resolved` comes from resolve(). The row of the table of kernels that a cubin of it has, where
  // the template declares one: selector, traits, implementation (the template's name), threads and shared
  // memory of its first kernel. Target, function name, digest, version and source are for whoever knows them.
  virtual Result<std::optional<KernelRow>> row(const KernelSpec& resolved) const = 0;
  // Returns one for each entry point, in the same order.
  virtual std::vector<KernelInterface> interfaces() const = 0;
  // One for each entry point, in the same order: a C++ name expression ("my::kernel<4>"), empty for extern
  // "C".
  virtual const std::vector<std::string>& symbol_expressions() const = 0;
  // C++ names of the variables that are asked for by these names: "scale", "ns::table<float>".
  virtual const std::vector<std::string>& globals() const = 0;
  // Further sources that are linked with this one into one cubin; each has its own name, text, folder,
  // headers and kernels, whose entry points follow this one's. None, unless said otherwise.
  virtual const std::vector<std::shared_ptr<const KernelTemplate>>& linked_sources() const;
  // The file that the declaration extends, a part of the build fingerprint. None, unless said otherwise.
  virtual const DeclarationBase& base() const;
  // Included before the first line of the source, in this order. None, unless said otherwise.
  virtual const std::vector<Prelude>& preludes() const;
  // Device libraries that are linked too, by the names that SourceProgram explains; looked for in folder()
  // as well. None, unless said otherwise.
  virtual const std::vector<std::string>& libraries() const;
  // unsupported, by name and number, when the target is below the minimum or a kernel could never launch
  // there: more shared memory than any device of the target gives a block, or more than 1024 threads.
  virtual Result<void> check_target(const KernelSpec& resolved, SmTarget target) const = 0;
  // The generated header <cubinet/parameters.cuh> through which the source sees its parameters.
  virtual Result<std::string> parameters_header(const KernelSpec& resolved) const = 0;
};

// A parameter value as text ("128", "true", "bf16", "0.1", "1,2,3") to the type that the declaration states.
// invalid_argument names the parameter and what it allows.
Result<ParameterValue> parse_parameter_value(const ParameterDeclaration& declaration, std::string_view text);

}  // namespace cubinet
