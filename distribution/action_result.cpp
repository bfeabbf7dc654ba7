// SPDX-License-Identifier: Apache-2.0
#include <cubinet/distribution/action_result.hpp>

#include <algorithm>

namespace cubinet {
namespace {

// Field numbers in remote_execution.proto.
constexpr std::uint64_t kOutputFiles = 2;  // of ActionResult
constexpr std::uint64_t kPath = 1;         // of OutputFile
constexpr std::uint64_t kDigest = 2;
constexpr std::uint64_t kContents = 5;
constexpr std::uint64_t kHash = 1;  // of Digest
constexpr std::uint64_t kSizeBytes = 2;

// Wire types. The groups, 3 and 4, are older than these messages and not supported.
constexpr std::uint64_t kVarint = 0;
constexpr std::uint64_t kEightBytes = 1;
constexpr std::uint64_t kDelimited = 2;
constexpr std::uint64_t kFourBytes = 5;

constexpr std::size_t kMostFiles = 64;

void put_varint(Bytes& out, std::uint64_t value) {
  for (; value >= 0x80U; value >>= 7U)
    out.push_back(static_cast<std::byte>(value | 0x80U));
  out.push_back(static_cast<std::byte>(value));
}

void put_delimited(Bytes& out, std::uint64_t field, ByteView bytes) {
  put_varint(out, field << 3U | kDelimited);
  put_varint(out, bytes.size());
  out.insert(out.end(), bytes.begin(), bytes.end());
}

Error no_action_result(const std::string& reason) {
  return Error{ErrorCode::corruption, "no ActionResult: " + reason};
}

struct WireField {
  std::uint64_t number = 0;
  std::uint64_t kind = kVarint;
  std::uint64_t value = 0;  // value of a varint
  ByteView bytes = {};      // content of a length-delimited field
};

// Reads the fields of one message in order. Nested messages are returned as bytes, so there is no
// recursion.
class WireReader {
 public:
  explicit WireReader(ByteView bytes) : rest_(bytes) {}
  bool at_end() const { return rest_.empty(); }

  Result<WireField> next() {
    WireField field;
    CUBINET_TRY_ASSIGN(const std::uint64_t tag, varint());
    field.number = tag >> 3U;
    field.kind = tag & 7U;
    if (field.number == 0) return no_action_result("a field without a number");
    if (field.kind == kVarint) {
      CUBINET_TRY_ASSIGN(field.value, varint());
    } else if (field.kind == kDelimited) {
      CUBINET_TRY_ASSIGN(const std::uint64_t size, varint());
      CUBINET_TRY_ASSIGN(field.bytes, take(size));
    } else if (field.kind == kEightBytes || field.kind == kFourBytes) {
      CUBINET_TRY(take(field.kind == kEightBytes ? 8 : 4));
    } else {
      return no_action_result("a field of a kind that it has not");
    }
    return field;
  }

 private:
  Result<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      CUBINET_TRY_ASSIGN(const ByteView byte, take(1));
      const auto bits = static_cast<std::uint64_t>(byte.front());
      value |= (bits & 0x7FU) << shift;
      if ((bits & 0x80U) == 0) return value;
    }
    return no_action_result("a number of more than 64 bits");
  }
  Result<ByteView> take(std::uint64_t count) {
    if (count > rest_.size()) return no_action_result("it ends within a field");
    const ByteView taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  ByteView rest_;
};

Result<void> read_digest(ByteView message, ActionResult::File& file) {
  for (WireReader reader(message); !reader.at_end();) {
    CUBINET_TRY_ASSIGN(const WireField field, reader.next());
    if (field.number == kHash && field.kind == kDelimited) {
      auto digest = Sha256Digest::parse(as_text(field.bytes));
      if (!digest) return no_action_result("a digest that is no SHA-256");
      file.digest = *digest;
    } else if (field.number == kSizeBytes && field.kind == kVarint) {
      file.size = field.value;
    }
  }
  return {};
}

Result<ActionResult::File> read_file(ByteView message) {
  ActionResult::File file;
  for (WireReader reader(message); !reader.at_end();) {
    CUBINET_TRY_ASSIGN(const WireField field, reader.next());
    if (field.kind != kDelimited) continue;
    if (field.number == kPath) file.path = std::string(as_text(field.bytes));
    if (field.number == kDigest) CUBINET_TRY(read_digest(field.bytes, file));
    if (field.number == kContents) file.contents.assign(field.bytes.begin(), field.bytes.end());
  }
  return file;
}

}  // namespace

const ActionResult::File* ActionResult::find(std::string_view path) const {
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const File& file) { return file.path == path; });
  return found == files.end() ? nullptr : &*found;
}

Bytes encode_action_result(const ActionResult& result) {
  Bytes message;
  for (const ActionResult::File& file : result.files) {
    Bytes digest;
    put_delimited(digest, kHash, as_bytes(file.digest.to_hex()));
    put_varint(digest, kSizeBytes << 3U | kVarint);
    put_varint(digest, file.size);
    Bytes encoded;
    put_delimited(encoded, kPath, as_bytes(file.path));
    put_delimited(encoded, kDigest, digest);
    if (!file.contents.empty()) put_delimited(encoded, kContents, file.contents);
    put_delimited(message, kOutputFiles, encoded);
  }
  return message;
}

Result<ActionResult> parse_action_result(ByteView bytes) {
  ActionResult result;
  for (WireReader reader(bytes); !reader.at_end();) {
    CUBINET_TRY_ASSIGN(const WireField field, reader.next());
    if (field.number != kOutputFiles || field.kind != kDelimited) continue;
    if (result.files.size() == kMostFiles) return no_action_result("more than 64 files");
    CUBINET_TRY_ASSIGN(result.files.emplace_back(), read_file(field.bytes));
  }
  return result;
}

}  // namespace cubinet
