// SPDX-License-Identifier: Apache-2.0
#include "include_closure.hpp"

#include "header_macros.hpp"
#include "include_scanner.hpp"
#include "standard_headers.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/sha256_hasher.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/parameter_words.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaximumHeaders = 10000;
constexpr std::uint64_t kMaximumBytes = std::uint64_t{256} << 20;

// Returns a file name with only common characters. Others could end the name in the text or change
// its meaning.
std::string harmless(std::string name) {
  for (char& c : name) {
    const bool usual = is_word_character(c) || std::string_view("/.-+").find(c) != std::string_view::npos;
    if (!usual) c = '_';
  }
  return name;
}

// Returns the path without "." and "..". It does not begin with "..".
std::string below_root(const fs::path& relative) {
  fs::path name;
  for (const fs::path& part : relative.lexically_normal()) {
    if (part != ".." && part != "/") name /= part;
  }
  return harmless(name.generic_string());
}

class ClosureBuilder {
 public:
  ClosureBuilder(const HeaderSearch& search, const FileProbe& probe)
      : first_of_toolkit_(search.include_directories.size()),
        dialect_(SourceDialect::of(search.standard)),
        probe_(probe) {
    for (const auto* directories : {&search.include_directories, &search.toolkit_directories})
      roots_.insert(roots_.end(), directories->begin(), directories->end());
    for (const auto& [name, body] : search.macros)
      macros_.define(name, body);
  }

  Result<IncludeClosure> run(const KernelTemplate& kernel_template) {
    names_taken_.emplace(kParametersHeaderName);
    from_memory_ = &kernel_template.headers();
    source_folder_ = kernel_template.folder();
    unused_words_.insert(kernel_template.unused_words().begin(), kernel_template.unused_words().end());
    File source{kernel_template.file_name(), kernel_template.source(), source_folder_, {}};
    source.is_source = true;
    source.memory_folder.emplace();
    names_taken_.insert(source.name);
    if (source.text.find('\0') != std::string::npos) {
      return Error{ErrorCode::invalid_argument,
                   "'" + source.name + "' holds a NUL byte, at which the compiler would stop reading",
                   "remove it; of a text in UTF-16, make one in UTF-8"};
    }
    CUBINET_TRY_ASSIGN(const std::string preludes, include_preludes(kernel_template));
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // an error where it is not the first
    if (!preludes.empty() && source.text.starts_with(kByteOrderMark))
      source.text.erase(0, kByteOrderMark.size());
    CUBINET_TRY_ASSIGN(closure_.source, named(source, true));
    closure_.source.insert(0, preludes);
    do {
      while (!pending_.empty()) {
        File next = std::move(pending_.front());
        pending_.pop_front();
        CUBINET_TRY_ASSIGN(std::string text, named(next));
        closure_.headers.push_back(
            {next.name, std::move(text), std::move(next.place), is_of_toolkit(next.root)});
      }
      CUBINET_TRY(follow_computed());
    } while (!pending_.empty());
    for (const auto& [name, header] : answerable_) {
      const std::string& unknown =
          header.unknown.empty() ? macros_.headers_of(header.operand).unknown : header.unknown;
      if (unknown.empty()) continue;
      return Error{ErrorCode::invalid_argument,
                   "'" + name + "' has '" + header.text +
                       "', whose header cannot be determined before it is compiled: " + unknown,
                   "write the header's name there, or define the macro as a name"};
    }
    closure_.unused_words.assign(unused_words_.begin(), unused_words_.end());
    for (const std::string& name : absent_) {
      if (names_taken_.contains(name) || name.starts_with(kMissingPrefix)) return in_another_place(name);
    }
    closure_.digest = digest();
    closure_.constants = count_constants();
    return std::move(closure_);
  }

 private:
  struct File {
    std::string name;
    std::string text;
    fs::path folder;                  // its folder; empty for a header without one
    std::optional<std::size_t> root;  // it is below roots_[*root]
    fs::path place{};                 // the file itself
    // The root in which it was found; its #include_next continues after it. For a header beside the
    // including file NVRTC has none: its #include_next searches all roots.
    std::optional<std::size_t> searched{};
    bool is_source = false;  // its #include_next is an #include
    // The folder of the template's header that this is, in the header's name; empty for the source.
    // nullopt: it is neither.
    std::optional<fs::path> memory_folder{};
  };

  // A file that has a name, and one of its folders.
  struct FoundFile {
    std::string name;
    fs::path folder;
  };

  std::size_t count_constants() const {
    constexpr std::string_view kWord = "constexpr";
    std::size_t count = 0;
    const auto add = [&](const std::string& text) {
      for (std::size_t at = text.find(kWord); at != std::string::npos;
           at = text.find(kWord, at + kWord.size()))
        ++count;
    };
    add(closure_.source);
    for (const CompilerHeader& header : closure_.headers)
      add(header.text);
    return count;
  }

  Sha256Digest digest() const {
    Sha256Hasher hasher;
    hasher.field("source", closure_.source);
    for (const CompilerHeader& header : closure_.headers) {
      hasher.field("header", header.name);
      hasher.field("text", header.text);
    }
    return hasher.finish();
  }

  bool is_of_toolkit(std::optional<std::size_t> root) const { return root && *root >= first_of_toolkit_; }

  // Returns whether the stand-ins of standard headers are hidden from an #include. CCCL works
  // without them, and headers that the toolkit includes only for a host compiler need not be read.
  bool has_no_stand_ins(const HeaderReference& reference, const File& file) const {
    if (reference.asks) return true;
    return is_of_toolkit(file.root) && (reference.host_only || is_of_cccl(file.name));
  }

  // Returns whether a file may use parameters: a toolkit's header never does, an embedded header
  // only if it includes them.
  bool may_use_parameters(const File& file, const IncludeScan& scan) const {
    if (!file.folder.empty()) return !is_of_toolkit(file.root);
    return std::any_of(scan.references.begin(), scan.references.end(), [](const HeaderReference& reference) {
      return reference.name == kParametersHeaderName;
    });
  }

  // Adds the preludes, and returns the lines that include them before the first line of the source.
  Result<std::string> include_preludes(const KernelTemplate& kernel_template) {
    std::string lines;
    for (const Prelude& prelude : kernel_template.preludes()) {
      const std::string name = free_name(below_root(prelude.name));
      CUBINET_TRY(enqueue({name, prelude.text, prelude.folder, {}}));
      lines += "#include <" + name + ">\n";
    }
    return lines.empty() ? lines : lines + "#line 1\n";
  }

  // Returns the text with the closure's names of its headers.
  Result<std::string> named(const File& file, bool is_template = false) {
    const IncludeScan scan = scan_includes(file.text, dialect_);
    for (const HeaderMacro& macro : scan.macros)
      macros_.define(macro.name, macro.body);
    // An embedded header has no root.
    const bool of_caller = !is_of_toolkit(file.root);
    if (scan.is_unclear && of_caller) {
      return Error{
          ErrorCode::invalid_argument,
          "'" + file.name + "' has a number with a backslash, behind which it may be read in two ways",
          "put a blank between them"};
    }
    for (const ComputedHeader& header : scan.computed) {
      if (!header.operand.empty())
        computed_.push_back({header.operand, {file.name, {}, file.folder, file.root}});
      if (is_template || (of_caller && header.text.starts_with('#')))
        answerable_.emplace_back(file.name, header);
    }
    if (!is_template && may_use_parameters(file, scan)) remove_words_of(file.text, unused_words_);
    std::vector<std::string> names;
    for (const HeaderReference& reference : scan.references) {
      std::vector<std::string> places;
      CUBINET_TRY_ASSIGN(const auto found, find(reference, file, places));
      names.push_back(found ? *found : missing(reference, file, std::move(places)));
    }
    return with_names(file.text, scan.references, names);
  }

  // Adds the headers that macros name. The compiler asks for them by their original names.
  Result<void> follow_computed() {
    for (const auto& [macro, file] : computed_) {
      for (const std::string& header : macros_.headers_of(macro).names) {
        HeaderReference reference;
        reference.name = header.substr(1, header.size() - 2);
        reference.quoted = header.front() == '"';
        // The compiler would open the file itself if it appeared later.
        if (fs::path(reference.name).is_absolute()) {
          return Error{ErrorCode::invalid_argument,
                       "the macro '" + macro + "' names the header " + header + " in '" + file.name +
                           "', by an absolute path",
                       "name it by a relative path and its folder with "
                       "`CompileOptions::include_directories`, or write the path where it is included"};
        }
        std::vector<std::string> places;
        CUBINET_TRY_ASSIGN(const auto found, find(reference, file, places));
        if (!found) absent_.insert(reference.name);
        if (found && *found != reference.name) CUBINET_TRY(add_alias(reference.name, *found));
      }
    }
    return {};
  }

  Result<void> add_alias(const std::string& name, const std::string& header) {
    const auto [alias, is_new] = aliases_.emplace(name, header);
    if (is_new && !name.starts_with(kMissingPrefix) && names_taken_.insert(name).second) {
      closure_.headers.push_back({name, "#include <" + header + ">\n"});
    } else if (is_new || alias->second != header) {
      return in_another_place(name);
    }
    return {};
  }

  static Error in_another_place(const std::string& name) {
    return Error{ErrorCode::unsupported,
                 "'" + name + "', which a macro names, would be another header in another place",
                 "write the header's name where it is included"};
  }

  // Returns the name of the header that was found, or nullopt and the searched places.
  Result<std::optional<std::string>> find(const HeaderReference& reference, const File& file,
                                          std::vector<std::string>& places) {
    const fs::path path = reference.name;
    // NVRTC prefers headers in memory to every file.
    CUBINET_TRY_ASSIGN(auto held, beside_in_memory(reference, file));
    if (held) return held;
    CUBINET_TRY_ASSIGN(held, in_memory(reference.name, *from_memory_, source_folder_, true));
    if (held) return held;
    if (path.is_absolute()) return at(path, path.filename(), std::nullopt, std::nullopt);
    const bool beside = reference.quoted && (!reference.next || file.is_source);
    if (beside && !file.folder.empty()) {
      const fs::path below = fs::path(file.name).parent_path() / path;
      CUBINET_TRY_ASSIGN(const auto found, at(file.folder / path, below, file.root, std::nullopt));
      if (found) return found;
      places.push_back(file.folder);
    }
    if (reference.name == kParametersHeaderName) {
      // It includes the element types if there is a dtype parameter.
      CUBINET_TRY(in_memory("cubinet/types.cuh", embedded_headers(), {}));
      return std::optional(reference.name);
    }
    CUBINET_TRY_ASSIGN(held, in_memory(reference.name, embedded_headers(), {}));
    if (held) return held;
    std::size_t root = reference.next && file.searched ? *file.searched + 1 : 0;
    for (; root < roots_.size(); ++root) {
      CUBINET_TRY_ASSIGN(const auto found, at(roots_[root] / path, path, root, root));
      if (found) return found;
      places.push_back(roots_[root]);
    }
    if (has_no_stand_ins(reference, file)) return std::optional<std::string>();
    return standard(reference.name);
  }

  Result<std::optional<std::string>> standard(const std::string& name) {
    const auto known = standard_names_.find(name);
    if (known != standard_names_.end()) return std::optional(known->second);
    for (const std::string& counterpart : counterparts_in_cccl(name)) {
      for (std::size_t root = 0; root < roots_.size(); ++root) {
        CUBINET_TRY_ASSIGN(const auto found, at(roots_[root] / counterpart, counterpart, root, root));
        if (found) return add_standard(name, standard_header(name, *found));
      }
    }
    if (const auto text = header_without_cccl(name)) return add_standard(name, *text);
    return std::optional<std::string>();
  }

  std::optional<std::string> add_standard(const std::string& name, std::string text) {
    const std::string given = free_name(name);
    standard_names_.emplace(name, given);
    closure_.headers.push_back({given, std::move(text)});
    return given;
  }

  std::string missing(const HeaderReference& reference, const File& file, std::vector<std::string> places) {
    closure_.missing.push_back({reference.name, file.name, std::move(places)});
    return std::string(kMissingPrefix) + std::to_string(closure_.missing.size() - 1);
  }

  // Finds a header in memory. `folder` is searched for its quoted includes; empty: none.
  template <class Headers>
  Result<std::optional<std::string>> in_memory(const std::string& name, const Headers& headers,
                                               const fs::path& folder, bool of_template = false) {
    const auto known = names_in_memory_.find(name);
    if (known != names_in_memory_.end()) return std::optional(known->second);
    const auto found = headers.find(name);
    if (found == headers.end()) return std::optional<std::string>();
    const std::string given = free_name(below_root(name));
    names_in_memory_.emplace(name, given);
    const fs::path lies = folder.empty() ? folder : (folder / name).parent_path();
    File header{given, found->second, lies, {}};
    if (of_template) header.memory_folder = fs::path(name).parent_path();
    CUBINET_TRY(enqueue(std::move(header)));
    return std::optional(given);
  }

  // Finds the template's header that a quoted include names beside the including file, which is the
  // source or such a header.
  Result<std::optional<std::string>> beside_in_memory(const HeaderReference& reference, const File& file) {
    if (!reference.quoted || reference.next || !file.memory_folder) return std::optional<std::string>();
    const fs::path beside = *file.memory_folder / reference.name;
    return in_memory(beside.lexically_normal().generic_string(), *from_memory_, source_folder_, true);
  }

  // Returns the name of the file at `path`, or nullopt if there is none. `below` is the root of its
  // name, which may differ from the root that was searched.
  Result<std::optional<std::string>> at(const fs::path& path, const fs::path& below,
                                        std::optional<std::size_t> root,
                                        std::optional<std::size_t> searched) {
    const auto looked = names_by_path_.find(path.native());
    if (looked != names_by_path_.end()) return looked->second;
    std::optional<std::string>& name = names_by_path_[path.native()];
    const FileStamp stamp = stamp_of(path);
    if (!stamp.exists) return name;
    // One file with two paths is one header, so that `#pragma once` works.
    std::vector<FoundFile>& known = names_by_file_[{stamp.device, stamp.inode}];
    for (const FoundFile& file : known) {
      if (file.folder == path.parent_path()) name = file.name;
    }
    if (name) return name;
    CUBINET_TRY_ASSIGN(const Bytes content, files_->read(path, kMaximumBytes));
    File header{{}, std::string(as_text(content)), path.parent_path(), root, path, searched};
    for (const FoundFile& file : known) {
      if (!includes_the_same(header, file.folder)) continue;
      name = file.name;
      return name;
    }
    header.name = free_name(below_root(below));
    if (is_of_toolkit(root) && header.name == kLibraryTypesName) header.text.insert(0, kLibraryTypesPrefix);
    known.push_back({header.name, header.folder});
    name = header.name;
    const std::string given = header.name;
    CUBINET_TRY(enqueue(std::move(header)));
    return std::optional(given);
  }

  const FileStamp& stamp_of(const fs::path& path) {
    const std::int64_t now = probe_.now_ns();
    const FileStamp& stamp = closure_.stamps.emplace_back(probe_.stamp(path));
    closure_.settled = closure_.settled && stamp.settled(now);
    return stamp;
  }

  // Returns whether the file's quoted includes find the same headers in its folder and in another
  // one that has a link to it.
  bool includes_the_same(const File& file, const fs::path& folder) {
    const IncludeScan scan = scan_includes(file.text, dialect_);
    return std::all_of(scan.references.begin(), scan.references.end(), [&](const HeaderReference& reference) {
      if (!reference.quoted || reference.next || fs::path(reference.name).is_absolute()) return true;
      const FileStamp here = stamp_of(file.folder / reference.name);
      const FileStamp there = stamp_of(folder / reference.name);
      return here.exists == there.exists &&
             (!here.exists || (here.device == there.device && here.inode == there.inode));
    });
  }

  std::string free_name(const std::string& wanted) {
    // A missing header's name would find this file.
    std::string name = wanted.starts_with(kMissingPrefix) ? "~" + wanted : wanted;
    for (unsigned number = 2; !names_taken_.insert(name).second; ++number)
      name = wanted + "~" + std::to_string(number);
    return name;
  }

  Result<void> enqueue(File file) {
    // The compiler would silently stop at a NUL byte.
    if (const std::size_t nul = file.text.find('\0'); nul != std::string::npos)
      file.text = file.text.substr(0, nul) + "\n#error this header holds a NUL byte\n";
    bytes_ += file.text.size();
    if (++headers_ > kMaximumHeaders || bytes_ > kMaximumBytes) {
      return Error{ErrorCode::unsupported,
                   "a template reaches more than 10000 headers, or more than 256 MiB of them"};
    }
    pending_.push_back(std::move(file));
    return {};
  }

  std::vector<fs::path> roots_;
  std::size_t first_of_toolkit_;
  SourceDialect dialect_;
  const FileProbe& probe_;
  std::shared_ptr<FileSystem> files_ = posix_file_system();
  IncludeClosure closure_;
  std::deque<File> pending_;
  HeaderMacros macros_;
  std::vector<std::pair<std::string, File>> computed_;  // the operand, and the file that includes it
  // Operands that must expand to a known header, and their files. The compiler opens a file with an
  // absolute path itself, and would wait for the end of a FIFO.
  std::vector<std::pair<std::string, ComputedHeader>> answerable_;
  std::set<std::string, std::less<>> unused_words_;  // of parameters
  std::map<std::string, std::string> aliases_;
  std::set<std::string> absent_;  // names that macros make and that do not exist
  std::set<std::string, std::less<>> names_taken_;
  const std::map<std::string, std::string>* from_memory_ = nullptr;  // the template's
  fs::path source_folder_;
  std::map<std::string, std::string> names_in_memory_;
  std::map<std::string, std::string> standard_names_;
  std::map<std::string, std::optional<std::string>> names_by_path_;  // nullopt: there is no such file
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<FoundFile>> names_by_file_;
  std::size_t headers_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

bool IncludeClosure::still_valid(const FileProbe& probe) const {
  return std::all_of(stamps.begin(), stamps.end(),
                     [&](const FileStamp& stamp) { return probe.stamp(stamp.path) == stamp; });
}

Result<IncludeClosure> close_over_includes(const KernelTemplate& kernel_template, const HeaderSearch& search,
                                           const FileProbe& probe) {
  return ClosureBuilder(search, probe).run(kernel_template);
}

Result<void> check_parameters_used(const KernelTemplate& kernel_template,
                                   const std::vector<std::shared_ptr<const IncludeClosure>>& closures) {
  for (const std::string& word : closures.front()->unused_words) {
    const bool unused = std::all_of(closures.begin(), closures.end(), [&](const auto& closure) {
      const std::vector<std::string>& words = closure->unused_words;
      return std::find(words.begin(), words.end(), word) != words.end();
    });
    if (!unused) continue;
    const auto& parameters = kernel_template.parameters();
    const auto of = std::find_if(parameters.begin(), parameters.end(),
                                 [&](const ParameterDeclaration& each) { return each.word() == word; });
    return Error{
        ErrorCode::invalid_argument,
        "the template '" + kernel_template.name() + "' declares the parameter '" +
            (of == parameters.end() ? word : of->name) + "', and '" + word +
            "' stands neither in its source, nor in a header but the toolkit's, nor in an expression",
        "use it, or leave it out: one code would be kept under several keys"};
  }
  return {};
}

}  // namespace cubinet
