// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/content_server.hpp>

#include <memory>

namespace cubinet {

// Opens a folder in the layout of a static server: blobs/sha256/<digest> and refs/<channel>.
std::shared_ptr<ContentServer> open_folder_server(std::shared_ptr<FileSystem> files,
                                                  std::filesystem::path folder);

// Return the text of a file refs/<channel>, and the digest in it. parse_channel_text returns
// corruption for any other text.
std::string channel_text(const Sha256Digest& manifest);
Result<Sha256Digest> parse_channel_text(std::string_view text, const std::string& where);
inline constexpr std::uint64_t kMaximumChannelText = 256;

}  // namespace cubinet
