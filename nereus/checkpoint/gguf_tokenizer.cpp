#include "nereus/checkpoint/gguf_tokenizer.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace nereus::checkpoint {
namespace {

// Values of tokenizer.ggml.token_type.
constexpr int kControl = 3, kUserDefined = 4;

constexpr const char* kLlama3Split =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr const char* kQwen2Split =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";

/// The value of a metadata key, nullptr where it is missing.
const Json* find(const formats::GgufFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? nullptr : &*found;
}

Result<const Json*> find_array(const formats::GgufFile& file, const char* key) {
  const Json* value = find(file, key);
  if (value == nullptr || !value->is_array())
    return fail("{}: key '{}': expected an array", file.source(), key);
  return value;
}

Result<std::string> find_text(const formats::GgufFile& file, const char* key) {
  const Json* value = find(file, key);
  if (value == nullptr || !value->is_string())
    return fail("{}: key '{}': expected a string", file.source(), key);
  return value->get<std::string>();
}

OrderedJson byte_level(bool use_regex) {
  return {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

OrderedJson sequence(OrderedJson first, OrderedJson second) {
  return {{"type", "Sequence"}, {"pretokenizers", OrderedJson::array({std::move(first), std::move(second)})}};
}

OrderedJson split_first(const char* regex) {
  return sequence(
      {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}},
      byte_level(false));
}

/// How a named pre-tokenizer splits text, and whether the model looks whole words up before merging.
struct Splitting {
  OrderedJson pre_tokenizer;
  bool ignore_merges = false;
  bool bos_by_default = false;
};

Result<Splitting> splitting(const formats::GgufFile& file) {
  const auto name = find_text(file, "tokenizer.ggml.pre");
  if (!name) return pass(name);
  if (*name == "smollm") {
    return Splitting{sequence({{"type", "Digits"}, {"individual_digits", true}}, byte_level(true))};
  }
  if (*name == "gpt-2") return Splitting{byte_level(true)};
  if (*name == "qwen2") return Splitting{split_first(kQwen2Split)};
  if (*name == "llama-bpe" || *name == "llama3" || *name == "llama-v3") {
    return Splitting{split_first(kLlama3Split), true, true};
  }
  return fail(
      "{}: key 'tokenizer.ggml.pre': '{}' is not supported; expected smollm, llama-bpe, gpt-2 or qwen2",
      file.source(), *name);
}

OrderedJson added_token(int64_t id, const std::string& text, bool special) {
  return {{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

Result<OrderedJson> added_tokens(const formats::GgufFile& file, const Json& tokens) {
  OrderedJson added = OrderedJson::array();
  const auto types = find_array(file, "tokenizer.ggml.token_type");
  if (!types) return pass(types);
  if ((*types)->size() != tokens.size()) {
    return fail("{}: key 'tokenizer.ggml.token_type': {} values for {} tokens", file.source(),
                (*types)->size(), tokens.size());
  }
  for (size_t id = 0; id < tokens.size(); ++id) {
    const Json& type = (**types)[id];
    if (type == kControl || type == kUserDefined) {
      added.push_back(added_token(static_cast<int64_t>(id), tokens[id].get<std::string>(), type == kControl));
    }
  }
  return added;
}

Result<OrderedJson> merge_pairs(const formats::GgufFile& file) {
  const auto merges = find_array(file, "tokenizer.ggml.merges");
  if (!merges) return pass(merges);
  OrderedJson pairs = OrderedJson::array();
  for (const Json& merge : **merges) {
    const std::string text = merge.is_string() ? merge.get<std::string>() : "";
    // The space between: a token may begin with one, but a byte-level token never holds another.
    const size_t space = text.find(' ', 1);
    if (space == std::string::npos || space + 1 == text.size()) {
      return fail("{}: key 'tokenizer.ggml.merges': expected two tokens with a space between, found '{}'",
                  file.source(), text);
    }
    pairs.push_back({text.substr(0, space), text.substr(space + 1)});
  }
  return pairs;
}

Result<OrderedJson> bpe_model(const formats::GgufFile& file, const Json& tokens, bool ignore_merges) {
  OrderedJson vocabulary = OrderedJson::object();
  // Appended to the underlying list: looking each token up first would be quadratic.
  auto& entries = vocabulary.get_ref<OrderedJson::object_t&>();
  for (const Json& token : tokens) entries.Container::emplace_back(token.get<std::string>(), entries.size());
  auto merges = merge_pairs(file);
  if (!merges) return merges;
  return OrderedJson{{"type", "BPE"},
                     {"dropout", nullptr},
                     {"unk_token", nullptr},
                     {"continuing_subword_prefix", ""},
                     {"end_of_word_suffix", ""},
                     {"fuse_unk", false},
                     {"byte_fallback", false},
                     {"ignore_merges", ignore_merges},
                     {"vocab", std::move(vocabulary)},
                     {"merges", std::move(*merges)}};
}

/// The text of the token whose id stands under `key`; nullopt where the key is missing.
Result<std::optional<std::string>> special_token(const formats::GgufFile& file, const Json& tokens,
                                                 const char* key) {
  const Json* id = find(file, key);
  if (id == nullptr) return std::nullopt;
  if (!id->is_number_unsigned() || id->get<uint64_t>() >= tokens.size()) {
    return fail("{}: key '{}': expected the id of one of {} tokens", file.source(), key, tokens.size());
  }
  return tokens[id->get<size_t>()].get<std::string>();
}

bool adds_bos(const formats::GgufFile& file, bool by_default) {
  const Json* flag = find(file, "tokenizer.ggml.add_bos_token");
  return flag != nullptr && flag->is_boolean() ? flag->get<bool>() : by_default;
}

/// Puts the beginning-of-sequence token before each text.
OrderedJson bos_template(const std::string& token, int64_t id) {
  const auto special = [&](int type) {
    return OrderedJson{{"SpecialToken", {{"id", token}, {"type_id", type}}}};
  };
  const auto text = [](const char* name, int type) {
    return OrderedJson{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  OrderedJson entry = {
      {"id", token}, {"ids", OrderedJson::array({id})}, {"tokens", OrderedJson::array({token})}};
  OrderedJson named = OrderedJson::object();
  named[token] = std::move(entry);
  return {{"type", "TemplateProcessing"},
          {"single", OrderedJson::array({special(0), text("A", 0)})},
          {"pair", OrderedJson::array({special(0), text("A", 0), special(1), text("B", 1)})},
          {"special_tokens", std::move(named)}};
}

/// The list of tokens, all of them strings.
Result<const Json*> token_list(const formats::GgufFile& file) {
  const auto model = find_text(file, "tokenizer.ggml.model");
  if (!model) return pass(model);
  if (*model != "gpt2") {
    return fail("{}: key 'tokenizer.ggml.model': '{}' is not supported; expected gpt2 (byte-level BPE)",
                file.source(), *model);
  }
  auto tokens = find_array(file, "tokenizer.ggml.tokens");
  if (!tokens) return tokens;
  for (const Json& token : **tokens) {
    if (!token.is_string()) return fail("{}: key 'tokenizer.ggml.tokens': expected strings", file.source());
  }
  return tokens;
}

}  // namespace

Result<OrderedJson> tokenizer_json(const formats::GgufFile& file) {
  const auto tokens = token_list(file);
  if (!tokens) return pass(tokens);
  auto split = splitting(file);
  if (!split) return pass(split);
  auto added = added_tokens(file, **tokens);
  if (!added) return added;
  auto model = bpe_model(file, **tokens, split->ignore_merges);
  if (!model) return model;
  const auto bos = special_token(file, **tokens, "tokenizer.ggml.bos_token_id");
  if (!bos) return pass(bos);
  OrderedJson post = byte_level(true);
  if (*bos && adds_bos(file, split->bos_by_default)) {
    post = bos_template(**bos, find(file, "tokenizer.ggml.bos_token_id")->get<int64_t>());
  }
  return OrderedJson{{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", std::move(*added)},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", std::move(split->pre_tokenizer)},
                     {"post_processor", std::move(post)},
                     {"decoder", byte_level(true)},
                     {"model", std::move(*model)}};
}

Result<OrderedJson> tokenizer_config_json(const formats::GgufFile& file, const spec::ModelConfig& config) {
  const auto tokens = token_list(file);
  if (!tokens) return pass(tokens);
  OrderedJson json = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                      {"model_max_length", config.context},
                      {"clean_up_tokenization_spaces", false}};
  constexpr std::pair<const char*, const char*> kSpecial[] = {
      {"bos_token", "tokenizer.ggml.bos_token_id"},
      {"eos_token", "tokenizer.ggml.eos_token_id"},
      {"unk_token", "tokenizer.ggml.unknown_token_id"},
      {"pad_token", "tokenizer.ggml.padding_token_id"},
  };
  for (const auto& [name, key] : kSpecial) {
    const auto token = special_token(file, **tokens, key);
    if (!token) return pass(token);
    if (*token) json[name] = **token;
  }
  if (const Json* chat = find(file, "tokenizer.chat_template"); chat != nullptr)
    json["chat_template"] = *chat;
  return json;
}

}  // namespace nereus::checkpoint
