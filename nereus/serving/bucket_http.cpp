#include "nereus/serving/bucket_http.h"

#include <algorithm>
#include <filesystem>

#include "nereus/formats/json_file.h"
#include "nereus/formats/mapped_file.h"
#include "nereus/serving/adapter_folder.h"

namespace nereus::serving {

namespace {

constexpr std::string_view kRoot = "/bucket";
constexpr size_t kPieceBytes = 256 << 10;
constexpr int kAttempts = 3;
constexpr double kPauseSeconds = 0.1;

http::Headers binary() {
  return {{"Content-Type", "application/octet-stream"}};
}

http::Response not_found(std::string_view what) {
  return http::json_response(404, {{"error", {{"message", fmt::format("{}: not in the bucket", what)}}}});
}

http::Response version_list(const Bucket& bucket) {
  const auto versions = bucket.versions();
  if (versions) return http::json_response(200, {{"versions", *versions}});
  return http::json_response(500, {{"error", {{"message", versions.error().message}}}});
}

/// "policy-v7/FILE" as a path in the bucket, where that is a file of the version's manifest.
Result<std::filesystem::path> find_file(const Bucket& bucket, std::string_view path) {
  const size_t slash = std::min(path.find('/'), path.size());
  const int64_t version = version_of(path.substr(0, slash));
  const std::string_view name = path.substr(std::min(slash + 1, path.size()));
  if (version < 0 || !safe_name(name)) return fail("{}: expected policy-vN/FILE", path);
  const auto manifest_path = bucket.folder(version) / kManifestName;
  const auto value = formats::read_json_file(manifest_path);
  if (!value) return pass(value);
  const auto manifest = Manifest::from_json(*value, manifest_path.string());
  if (!manifest) return pass(manifest);
  if (name != kManifestName && !manifest->find(name)) return fail("{}: not of this version", path);
  // What a link in the bucket points to is not the bucket's.
  return adapter_path(fmt::format("{}/{}", version_name(version), name), bucket.root());
}

http::Task<> send_file(http::Exchange& exchange, const std::filesystem::path& path) {
  const auto file = formats::MappedFile::open(path);
  if (!file) {
    (void)co_await exchange.respond(not_found(path.filename().string()));
    co_return;
  }
  if (!co_await exchange.begin(200, binary())) co_return;
  for (std::string_view rest = (*file)->text(); !rest.empty();) {
    const std::string_view piece = rest.substr(0, kPieceBytes);
    if (!co_await exchange.write(piece)) co_return;
    rest.remove_prefix(piece.size());
  }
  (void)co_await exchange.end();
}

http::Request get(const RemoteBucket& remote, std::string_view path) {
  http::Request request;
  request.target = fmt::format("{}{}", kRoot, path);
  if (!remote.token.empty()) request.headers.add("Authorization", "Bearer " + remote.token);
  return request;
}

http::Task<Result<std::string>> download(http::Client& client, const RemoteBucket& remote, std::string path,
                                         uint64_t max_bytes) {
  http::CallOptions options;
  options.max_body_bytes = max_bytes;
  auto response = co_await client.fetch(remote.url, get(remote, path), options);
  if (!response) co_return pass(response);
  if (response->status != 200)
    co_return fail("{}{}{}: status {}: {}", remote.url.text(), kRoot, path, response->status,
                   response->body.substr(0, 200));
  co_return std::move(response->body);
}

http::Task<Result<Manifest>> fetch_once(http::Client& client, const RemoteBucket& remote, int64_t version,
                                        Bucket& into) {
  constexpr uint64_t kManifestBytes = 1 << 20;
  const std::string folder = fmt::format("/{}/", version_name(version));
  const std::string manifest_path = fmt::format("{}{}", folder, kManifestName);
  const auto text = co_await download(client, remote, manifest_path, kManifestBytes);
  if (!text) co_return pass(text);
  const std::string source = fmt::format("{}{}{}", remote.url.text(), kRoot, manifest_path);
  const auto value = parse_json(*text, source);
  if (!value) co_return pass(value);
  auto manifest = Manifest::from_json(*value, source);
  if (!manifest) co_return manifest;
  if (manifest->version != version)
    co_return fail("{}: is of version {}, expected {}", source, manifest->version, version);
  std::vector<std::string> contents;
  for (const auto& file : manifest->files) {
    auto content = co_await download(client, remote, folder + file.name, file.bytes);
    if (!content) co_return pass(content);
    contents.push_back(std::move(*content));
  }
  std::vector<NewFile> files;
  for (size_t i = 0; i < contents.size(); ++i)
    files.push_back({manifest->files[i].name, std::as_bytes(std::span(contents[i]))});
  if (auto written = into.import(*manifest, files); !written) co_return pass(written);
  co_return manifest;
}

}  // namespace

http::Task<> serve_bucket(const Bucket& bucket, http::Exchange& exchange) {
  const std::string path = exchange.request().path();
  if (path == kRoot) {
    (void)co_await exchange.respond(version_list(bucket));
    co_return;
  }
  const std::string_view inside = std::string_view(path).substr(std::min(kRoot.size() + 1, path.size()));
  const auto file = path.starts_with("/bucket/") ? find_file(bucket, inside) : fail("{}", path);
  if (file)
    co_await send_file(exchange, *file);
  else
    (void)co_await exchange.respond(not_found(inside));
}

http::Task<Result<std::vector<int64_t>>> remote_versions(http::Client& client, RemoteBucket remote) {
  const auto text = co_await download(client, remote, "", 1 << 20);
  if (!text) co_return pass(text);
  const auto value = parse_json(*text, remote.url.text());
  if (!value) co_return pass(value);
  std::vector<int64_t> versions;
  const auto list = value->is_object() ? value->find("versions") : value->end();
  if (!value->is_object() || list == value->end() || !list->is_array())
    co_return fail("{}: expected {{\"versions\": [..]}}", remote.url.text());
  for (const auto& version : *list) {
    if (!version.is_number_integer()) co_return fail("{}: a version is no number", remote.url.text());
    versions.push_back(version.get<int64_t>());
  }
  co_return versions;
}

http::Task<Result<Manifest>> fetch_version(http::Loop& loop, http::Client& client, RemoteBucket remote,
                                           int64_t version, Bucket& into) {
  const auto present = into.versions();
  if (present && std::ranges::binary_search(*present, version)) co_return into.verify(version);
  for (int attempt = 1;; ++attempt) {
    auto manifest = co_await fetch_once(client, remote, version, into);
    if (manifest || attempt == kAttempts) co_return manifest;
    if (!co_await loop.sleep(kPauseSeconds * attempt)) co_return manifest;
  }
}

}  // namespace nereus::serving
