// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/kernel_spec.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
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

// Returns "int", "bool", "dtype", "choice", "float", "double", "string", "type", "identifier",
// "int[]" …
std::string_view to_string(ParameterType type);

// The declaration of one parameter of a template.
struct ParameterDeclaration {
  std::string name;
  std::string summary;
  ParameterType type = ParameterType::integer;
  std::string macro;  // the macro that the source sees; empty: a constant with its name
  std::optional<ParameterValue> default_value;
  std::string default_expression;      // instead of a constant; without either, a request must give a value
  std::vector<ParameterValue> values;  // allowed values; empty: any value of the type within the limits
  std::optional<ParameterValue> minimum;  // limits of numbers without `values`, in the parameter's type
  std::optional<ParameterValue> maximum;
  std::int64_t multiple_of = 1;  // of integers

  // Returns the allowed values for people: "one of 64, 128, 256"; "8 to 65536, a multiple of 8".
  std::string allowed() const;
  // Returns the identifier that the source uses.
  const std::string& word() const { return macro.empty() ? name : macro; }
};

// The description of one kernel's launch in a template's declaration, for people. A text is empty
// if the declaration does not state it.
struct KernelInterface {
  std::string kernel;
  std::string grid;             // "ceil(rows / rows_per_block)"
  std::string argument;         // the C++ name of the by-value argument structure
  std::string argument_header;  // the header that defines it, as #include names it
};

// A text that is included before the first line of a source (nvcc's -include).
struct Prelude {
  std::string name;  // a file name without a folder, used in messages and in __FILE__
  std::string text;
  std::string folder;  // searched first for its quoted headers; empty: none

  friend bool operator==(const Prelude&, const Prelude&) = default;
};

// The file that a declaration extends.
struct DeclarationBase {
  std::string name;  // a file beside the declaration; empty if there is none
  std::string text;
};

// A kernel template: a CUDA C++ source whose head declares its name, interface version, parameters,
// constraints and kernels (docs/formats/template.md). Built-in templates and users' templates are
// alike. Immutable and thread-safe; shared by pointer.
class KernelTemplate {
 public:
  // Parses a source. `origin` is the file name of the declaration in messages. `folder` is searched
  // first for quoted headers; empty: none. `declaration` is the JSON of a source without a
  // declaration of its own; the generated header is then included before the source's first line.
  // `read_source` returns the text of a file that the declaration names as `base` or in `sources`;
  // it is called only during this call. Returns invalid_argument with the reason and the line of a
  // wrong declaration.
  static Result<std::shared_ptr<const KernelTemplate>> parse(
      std::string source, std::string_view origin, std::string folder = {},
      std::optional<std::string_view> declaration = {},
      const Callback<Result<std::string>(const std::string&)>& read_source = {});
  virtual ~KernelTemplate() = default;

  virtual const std::string& name() const = 0;
  virtual const std::string& summary() const = 0;
  // Returns the version of the argument structures. The author raises it whenever a structure or
  // its meaning changes. A cubin built for another version is never launched.
  virtual std::uint32_t interface_version() const = 0;
  virtual const std::string& source() const = 0;
  // Returns the SHA-256 of everything in memory that the code depends on besides parameters and
  // options: source, base of the declaration, headers, preludes, linked sources, and the library's
  // headers that these include. Files beside the source do not count. Computed once.
  const Sha256Digest& text_digest() const;
  // Returns the source's name in compiler messages and in __FILE__.
  virtual std::string file_name() const { return name() + ".cu"; }
  virtual const std::string& folder() const = 0;
  // Returns the headers in memory, by the name that #include gives. They are found before files,
  // except for files beside the including file.
  virtual const std::map<std::string, std::string>& headers() const = 0;
  virtual const std::vector<ParameterDeclaration>& parameters() const = 0;
  // Returns the parameters that neither the source nor an expression of the declaration uses.
  // Unless a header uses them, the code does not depend on them, and equal code would have several
  // keys.
  virtual const std::vector<std::string>& unused_words() const = 0;
  virtual SmTarget minimum_target() const = 0;
  // Returns the constraints on combinations of values, one sentence each, for people. resolve()
  // checks them.
  virtual const std::vector<std::string>& constraints() const = 0;

  // Checks every parameter and constraint and fills in the defaults. The result is complete and may
  // be passed to identify(). Returns invalid_argument with the parameter and its allowed values;
  // nothing is rounded.
  virtual Result<KernelSpec> resolve(const KernelSpec& spec) const = 0;
  // Returns the source's functions for these parameters, with threads and shared memory. `symbol`
  // is empty for a C++ name expression, whose symbol only the compiler knows. REQUIRES: `resolved`
  // comes from resolve().
  virtual Result<std::vector<EntryPoint>> entry_points(const KernelSpec& resolved) const = 0;
  // Returns the cubin's row in the kernel table, if the template declares one: selector, traits,
  // implementation (the template's name), and threads and shared memory of its first kernel. The
  // caller adds target, function name, digest, version and source. REQUIRES: `resolved` comes from
  // resolve().
  virtual Result<std::optional<KernelRow>> row(const KernelSpec& resolved) const = 0;
  // Returns one for each entry point, in the same order.
  virtual std::vector<KernelInterface> interfaces() const = 0;
  // Returns one C++ name expression ("my::kernel<4>") for each entry point, in the same order;
  // empty for extern "C".
  virtual const std::vector<std::string>& symbol_expressions() const = 0;
  // Returns the C++ names of the variables that programs may look up: "scale", "ns::table<float>".
  virtual const std::vector<std::string>& globals() const = 0;
  // Returns further sources that are linked with this one into one cubin. Each has its own name,
  // text, folder, headers and kernels; its entry points follow this source's. Default: none.
  virtual const std::vector<std::shared_ptr<const KernelTemplate>>& linked_sources() const;
  // Returns the file that the declaration extends, which is a part of the build fingerprint.
  // Default: none.
  virtual const DeclarationBase& base() const;
  // Returns the texts that are included before the first line of the source, in this order.
  // Default: none.
  virtual const std::vector<Prelude>& preludes() const;
  // Returns the names of device libraries to link with (SourceProgram::libraries), also searched in
  // folder(). Default: none.
  virtual const std::vector<std::string>& libraries() const;
  // Returns unsupported, with names and numbers, if the target is below the minimum, or if no
  // device of the target can launch a kernel: too much shared memory, or more than 1024 threads per
  // block. `kind` is that of the image, which is named by its target.
  virtual Result<void> check_target(const KernelSpec& resolved, SmTarget target,
                                    ImageKind kind = ImageKind::cubin) const = 0;
  // Returns the generated header <cubinet/parameters.cuh>, which defines the parameters for the
  // source.
  virtual Result<std::string> parameters_header(const KernelSpec& resolved) const = 0;

 private:
  mutable std::once_flag text_hashed_;
  mutable Sha256Digest text_digest_;  // set once, guarded by text_hashed_
};

// Converts text ("128", "true", "bf16", "0.1", "1,2,3") to the parameter's type. Returns
// invalid_argument with the parameter and its allowed values.
Result<ParameterValue> parse_parameter_value(const ParameterDeclaration& declaration, std::string_view text);

}  // namespace cubinet
