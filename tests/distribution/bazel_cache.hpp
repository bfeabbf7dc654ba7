// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/fault_server.hpp"

#include <cubinet/distribution/action_result.hpp>

#include <map>
#include <mutex>
#include <string>

namespace cubinet::test {

// A server that accepts and returns content over HTTP by the rules of bazel-remote. Content below
// cas/ has the digest in its name. Content below ac/ is an ActionResult with relative paths. The
// server adds the sender to it and has it only while it has the files that it names.
class BazelCache {
 public:
  BazelCache() : server_([this](const ReceivedRequest& request, std::size_t) { return answer(request); }) {}

  std::string authority() const { return server_.authority(); }
  std::string url() const { return server_.url("/cache"); }
  std::vector<ReceivedRequest> requests() const { return server_.requests(); }

  std::map<std::string, std::string> content() const {
    const std::lock_guard lock(mutex_);
    return content_;
  }
  void put(const std::string& path, const std::string& body) {
    const std::lock_guard lock(mutex_);
    content_[path] = body;
  }
  void forget(const std::string& path) {
    const std::lock_guard lock(mutex_);
    content_.erase(path);
  }

 private:
  ServerReply answer(const ReceivedRequest& request) {
    const std::lock_guard lock(mutex_);
    const bool is_blob = request.target.starts_with("/cache/cas/");
    const std::string path = request.target.substr(std::string("/cache/").size());
    const std::string name = path.substr(path.find('/') + 1);
    if (!is_blob && !request.target.starts_with("/cache/ac/")) return reply(400, "no such place");
    if (!Sha256Digest::parse(name) || name.find_first_of("ABCDEF") != std::string::npos)
      return reply(400, "no SHA-256");
    if (request.method == "PUT") return take(path, name, is_blob, request);
    if (request.method != "GET" && request.method != "HEAD") return reply(405);
    const auto found = content_.find(path);
    if (found == content_.end() || (!is_blob && !is_complete(found->second))) return reply(404, "Not found");
    if (request.method == "HEAD") return reply(200);
    return reply(200, found->second);
  }

  ServerReply take(const std::string& path, const std::string& name, bool is_blob,
                   const ReceivedRequest& request) {
    if (request.header("content-length") != std::to_string(request.body.size())) return reply(400, "length");
    if (is_blob) {
      if (sha256(as_bytes(request.body)).to_hex() != name) return reply(400, "other content");
      content_[path] = request.body;
      return reply(200);
    }
    const auto result = parse_action_result(as_bytes(request.body));
    if (!result || request.body.empty()) return reply(400, "no ActionResult");
    for (const ActionResult::File& file : result->files) {
      if (file.path.empty() || file.path.front() == '/' || file.digest == Sha256Digest())
        return reply(400, "no output file");
    }
    // Adds execution_metadata = 9: worker = 1.
    content_[path] = request.body +
                     "\x4a\x09\x0a\x07"
                     "node-01";
    return reply(200);
  }

  bool is_complete(const std::string& entry) const {
    const auto result = parse_action_result(as_bytes(entry));
    if (!result) return true;  // the entry bypassed this server
    for (const ActionResult::File& file : result->files) {
      if (file.contents.empty() && !content_.contains("cas/" + file.digest.to_hex())) return false;
    }
    return true;
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::string> content_;
  FaultServer server_;
};

}  // namespace cubinet::test
