#include "nereus/serving/manifest.h"

#include <algorithm>
#include <charconv>

namespace nereus::serving {

namespace {

constexpr size_t kMaxName = 128, kDigestDigits = 64;
constexpr std::string_view kPrefix = "policy-v";

bool letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digest(std::string_view text) {
  return text.size() == kDigestDigits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<int64_t> number(const Json& object, const char* key, std::string_view source) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer() || found->get<int64_t>() < 0)
    return fail("{}: \"{}\": expected a number of 0 or more", source, key);
  return found->get<int64_t>();
}

Result<std::string> text(const Json& object, const char* key, std::string_view source) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return fail("{}: \"{}\": expected a text", source, key);
  return found->get<std::string>();
}

Result<ManifestFile> file_from_json(const Json& value, std::string_view source) {
  if (!value.is_object()) return fail("{}: \"files\": expected objects", source);
  const auto name = text(value, "name", source);
  const auto bytes = number(value, "bytes", source);
  const auto digest = text(value, "sha256", source);
  if (!name) return pass(name);
  if (!bytes) return pass(bytes);
  if (!digest) return pass(digest);
  if (!safe_name(*name) || *name == kManifestName)
    return fail("{}: \"files\": \"{}\": expected the name of a file, without folders", source, *name);
  if (!is_digest(*digest))
    return fail("{}: \"files\": {}: \"sha256\": expected 64 hexadecimal digits", source, *name);
  return ManifestFile{*name, static_cast<uint64_t>(*bytes), *digest};
}

}  // namespace

std::string version_name(int64_t version) {
  return fmt::format("{}{}", kPrefix, version);
}

int64_t version_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return -1;
  name.remove_prefix(kPrefix.size());
  int64_t version = -1;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), version);
  const bool whole = code == std::errc() && end == name.data() + name.size() && version >= 0;
  // "v07" and "v+7" would be second names of one version.
  return whole && std::to_string(version) == name ? version : -1;
}

bool safe_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && name.front() != '.' &&
         std::ranges::all_of(name,
                             [](char c) { return letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

OrderedJson Manifest::json() const {
  OrderedJson list = OrderedJson::array();
  for (const auto& file : files)
    list.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  return {{"format", 1},  {"version", version}, {"step", step},
          {"kind", kind}, {"base", base},       {"files", list}};
}

Result<Manifest> Manifest::from_json(const Json& value, std::string_view source) {
  if (!value.is_object()) return fail("{}: expected an object", source);
  const auto format = number(value, "format", source);
  if (!format) return pass(format);
  if (*format != 1) return fail("{}: format {}: this program reads format 1", source, *format);
  const auto version = number(value, "version", source);
  const auto step = number(value, "step", source);
  const auto kind = text(value, "kind", source);
  const auto base = text(value, "base", source);
  if (!version) return pass(version);
  if (!step) return pass(step);
  if (!kind) return pass(kind);
  if (!base) return pass(base);
  if (*kind != "lora") return fail("{}: \"kind\": {}: expected \"lora\"", source, *kind);
  Manifest manifest{*version, *step, *kind, *base, {}};
  const auto files = value.find("files");
  if (files == value.end() || !files->is_array() || files->empty())
    return fail("{}: \"files\": expected a list of files", source);
  for (const auto& entry : *files) {
    auto file = file_from_json(entry, source);
    if (!file) return pass(file);
    if (manifest.find(file->name)) return fail("{}: \"files\": {} is listed twice", source, file->name);
    manifest.files.push_back(std::move(*file));
  }
  return manifest;
}

const ManifestFile* Manifest::find(std::string_view name) const {
  const auto found = std::ranges::find(files, name, &ManifestFile::name);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace nereus::serving
