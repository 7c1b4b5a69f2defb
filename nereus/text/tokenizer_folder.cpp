// Reads the tokenizer files of a Hugging Face folder.
#include "nereus/formats/json_file.h"
#include "nereus/formats/mapped_file.h"
#include "nereus/text/json_field.h"
#include "nereus/text/tokenizer_data.h"

namespace nereus::text {

namespace {

using std::filesystem::path;

/// The object in the file, {} where there is no such file.
Result<Json> optional_object(const path& file) {
  if (!std::filesystem::exists(file)) return Json::object();
  auto json = formats::read_json_file(file);
  if (json && !json->is_object()) return fail("{}: expected an object", file.string());
  return json;
}

/// "<s>" of "bos_token": "<s>" or "bos_token": {"content": "<s>", ...}; "" where missing.
Result<std::string> token_text(const Json& config, std::string_view key, std::string_view where) {
  const Json* value = find_field(config, key);
  if (!value) return std::string();
  if (value->is_string()) return value->get<std::string>();
  return string_field(*value, "content", fmt::format("{}: {}", where, key));
}

/// Template texts are a string or a list of {"name", "template"}, of which "default" counts.
Result<std::string> template_text(const Json& config, std::string_view where) {
  const Json* value = find_field(config, "chat_template");
  if (!value) return std::string();
  if (value->is_string()) return value->get<std::string>();
  if (!value->is_array()) return fail("{}: chat_template: expected a string or a list", where);
  for (const Json& entry : *value) {
    const auto name = string_field(entry, "name", fmt::format("{}: chat_template[]", where));
    if (!name) return pass(name);
    if (*name == "default") return string_field(entry, "template", fmt::format("{}: chat_template[]", where));
  }
  return std::string();
}

class FolderReader {
 public:
  FolderReader(path folder, TokenizerData data) : folder_(std::move(folder)), data_(std::move(data)) {}

  Result<TokenizerData> read() {
    for (const auto step : {&FolderReader::read_config, &FolderReader::read_names, &FolderReader::read_around,
                            &FolderReader::read_template}) {
      if (auto ok = (this->*step)(); !ok) return pass(ok);
    }
    if (auto ok = data_.finish(folder_.string()); !ok) return pass(ok);
    return std::move(data_);
  }

 private:
  /// tokenizer_config.json, and from special_tokens_map.json what it lacks.
  Status read_config() {
    config_file_ = (folder_ / "tokenizer_config.json").string();
    auto config = optional_object(config_file_);
    if (!config) return pass(config);
    const auto map = optional_object(folder_ / "special_tokens_map.json");
    if (!map) return pass(map);
    config_ = std::move(*config);
    for (const auto& [key, value] : map->items()) {
      if (!find_field(config_, key)) config_[key] = value;
    }
    return {};
  }

  Status read_names() {
    const std::pair<const char*, std::string*> texts[] = {{"bos_token", &data_.bos_text},
                                                          {"eos_token", &data_.eos_text},
                                                          {"pad_token", &data_.pad_text},
                                                          {"unk_token", &data_.unk_text}};
    for (const auto& [key, text] : texts) {
      auto found = token_text(config_, key, config_file_);
      if (!found) return pass(found);
      *text = std::move(*found);
      mark_special(*text);
    }
    data_.bos = data_.find(data_.bos_text);
    if (!data_.bos && !data_.bos_text.empty()) return unknown_token("bos_token", data_.bos_text);
    const auto eos = data_.find(data_.eos_text);
    if (!eos && !data_.eos_text.empty()) return unknown_token("eos_token", data_.eos_text);
    if (eos) data_.add_eos(*eos);
    return {};
  }

  Status unknown_token(std::string_view key, std::string_view text) const {
    return fail("{}: {}: the vocabulary lacks \"{}\"", config_file_, key, text);
  }

  /// A token that the configuration names is special, as in Transformers, even where tokenizer.json is
  /// silent.
  void mark_special(const std::string& text) {
    const auto id = data_.find(text);
    if (!id || text.empty() || data_.tokens[static_cast<size_t>(*id)].special) return;
    data_.add_added({.id = *id, .content = text, .special = true});
  }

  /// `add_bos_token` or `add_eos_token`, where written, replace the template of tokenizer.json.
  Status read_around() {
    if (!find_field(config_, "add_bos_token") && !find_field(config_, "add_eos_token")) return {};
    const auto add_bos = bool_field(config_, "add_bos_token", false, config_file_);
    if (!add_bos) return pass(add_bos);
    const auto add_eos = bool_field(config_, "add_eos_token", false, config_file_);
    if (!add_eos) return pass(add_eos);
    data_.before.clear(), data_.after.clear();
    if (*add_bos && data_.bos) data_.before = {*data_.bos};
    if (*add_eos && !data_.eos.empty()) data_.after = {data_.eos.front()};
    return {};
  }

  Status read_template() {
    const path file = folder_ / "chat_template.jinja";
    if (!std::filesystem::exists(file)) {
      auto text = template_text(config_, config_file_);
      if (!text) return pass(text);
      data_.chat_template = std::move(*text);
      return {};
    }
    const auto mapped = formats::MappedFile::open(file);
    if (!mapped) return pass(mapped);
    data_.chat_template = (*mapped)->text();
    return {};
  }

  path folder_;
  TokenizerData data_;
  std::string config_file_;
  Json config_;
};

}  // namespace

Result<TokenizerData> read_tokenizer_folder(const path& folder) {
  const path file = folder / "tokenizer.json";
  if (!std::filesystem::exists(file)) {
    return fail("{}: no tokenizer.json; expected one as Hugging Face's tokenizers write it", folder.string());
  }
  const auto text = formats::MappedFile::open(file);
  if (!text) return pass(text);
  auto data = read_tokenizer_json((*text)->text(), file.string());
  if (!data) return data;
  return FolderReader(folder, std::move(*data)).read();
}

}  // namespace nereus::text
