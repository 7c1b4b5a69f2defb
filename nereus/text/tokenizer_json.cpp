// Reads a tokenizer.json of Hugging Face's tokenizers.
#include "nereus/text/json_field.h"
#include "nereus/text/tokenizer_data.h"

namespace nereus::text {

namespace {

Status read_vocabulary(const Json& model, std::string_view where, TokenizerData& data) {
  const auto vocab = object_field(model, "vocab", where);
  if (!vocab) return pass(vocab);
  for (const auto& [text, value] : (*vocab)->items()) {
    const std::string key = fmt::format("{}.vocab[\"{}\"]", where, text);
    const auto id = token_id(value, key);
    if (!id) return pass(id);
    if (auto added = data.add_vocabulary(*id, text, key); !added) return added;
  }
  return {};
}

/// Either "a b" or ["a", "b"].
Result<std::pair<std::string_view, std::string_view>> merge_from(const Json& json, std::string_view where) {
  if (json.is_string()) return split_merge(json.get_ref<const std::string&>(), where);
  if (!json.is_array() || json.size() != 2 || !json[0].is_string() || !json[1].is_string()) {
    return fail("{}: expected two tokens", where);
  }
  return std::pair<std::string_view, std::string_view>(json[0].get_ref<const std::string&>(),
                                                       json[1].get_ref<const std::string&>());
}

Status read_merges(const Json& model, std::string_view where, BpeFile& file) {
  const auto merges = array_field(model, "merges", where);
  if (!merges) return pass(merges);
  file.merges_key = fmt::format("{}.merges", where);
  file.merges.reserve((*merges)->size());
  for (size_t i = 0; i < (*merges)->size(); ++i) {
    const auto merge = merge_from((**merges)[i], file.merges_key);
    if (!merge) return pass(merge);
    file.merges.push_back(*merge);
  }
  return {};
}

/// What would change ids if it were left out.
Status refuse_unsupported(const Json& model, std::string_view where) {
  const auto type = string_field(model, "type", where);
  if (!type) return pass(type);
  if (*type != "BPE") return fail("{}.type is \"{}\"; expected \"BPE\" (byte-level)", where, *type);
  for (const auto key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const Json* text = find_field(model, key);
    if (text && *text != "") return fail("{}.{} is not supported; expected none", where, key);
  }
  const Json* dropout = find_field(model, "dropout");
  if (dropout && *dropout != 0) return fail("{}.dropout is not supported; expected null", where);
  const auto fallback = bool_field(model, "byte_fallback", false, where);
  if (!fallback) return pass(fallback);
  if (*fallback) return fail("{}.byte_fallback is true: the model is not byte-level BPE", where);
  return {};
}

Status read_unknown(const Json& model, std::string_view where, const TokenizerData& data, BpeFile& file) {
  const auto fuse = bool_field(model, "fuse_unk", false, where);
  if (!fuse) return pass(fuse);
  file.fuse_unknown = *fuse;
  if (!find_field(model, "unk_token")) return {};
  const auto text = string_field(model, "unk_token", where);
  if (!text) return pass(text);
  file.unknown = data.find(*text);
  if (!file.unknown) return fail("{}.unk_token: the vocabulary lacks \"{}\"", where, *text);
  return {};
}

Status read_model(const Json& json, std::string_view source, TokenizerData& data) {
  const auto model = object_field(json, "model", fmt::format("{}: tokenizer", source));
  if (!model) return pass(model);
  const std::string where = fmt::format("{}: model", source);
  BpeFile file;
  const auto ignore = bool_field(**model, "ignore_merges", false, where);
  if (!ignore) return pass(ignore);
  file.ignore_merges = *ignore;
  if (auto ok = refuse_unsupported(**model, where); !ok) return ok;
  if (auto ok = read_vocabulary(**model, where, data); !ok) return ok;
  if (auto ok = read_merges(**model, where, file); !ok) return ok;
  if (auto ok = read_unknown(**model, where, data, file); !ok) return ok;
  auto bpe = build_bpe(data, file);
  if (!bpe) return pass(bpe);
  data.bpe = std::move(*bpe);
  return {};
}

Result<AddedToken> added_token(const Json& json, std::string_view where) {
  AddedToken token;
  const auto content = string_field(json, "content", where);
  if (!content) return pass(content);
  token.content = *content;
  const auto value = field(json, "id", where);
  if (!value) return pass(value);
  const auto id = token_id(**value, fmt::format("{}.id", where));
  if (!id) return pass(id);
  token.id = *id;
  const std::pair<const char*, bool*> flags[] = {{"special", &token.special},
                                                 {"single_word", &token.single_word},
                                                 {"lstrip", &token.lstrip},
                                                 {"rstrip", &token.rstrip},
                                                 {"normalized", &token.normalized}};
  for (const auto& [key, flag] : flags) {
    const auto set = bool_field(json, key, false, where);
    if (!set) return pass(set);
    *flag = *set;
  }
  return token;
}

Status read_added_tokens(const Json& json, std::string_view source, TokenizerData& data) {
  if (!find_field(json, "added_tokens")) return {};
  const auto list = array_field(json, "added_tokens", fmt::format("{}: tokenizer", source));
  if (!list) return pass(list);
  for (size_t i = 0; i < (*list)->size(); ++i) {
    auto token = added_token((**list)[i], fmt::format("{}: added_tokens[{}]", source, i));
    if (!token) return pass(token);
    data.add_added(std::move(*token));
  }
  return {};
}

/// Ids of a special token of a template.
Result<std::vector<int32_t>> template_ids(const Json& json, const std::string& name, std::string_view where) {
  const auto tokens = object_field(json, "special_tokens", where);
  if (!tokens) return pass(tokens);
  const auto inside = fmt::format("{}.special_tokens", where);
  const auto token = object_field(**tokens, name, inside);
  if (!token) return pass(token);
  const auto ids = array_field(**token, "ids", fmt::format("{}.{}", inside, name));
  if (!ids) return pass(ids);
  std::vector<int32_t> out;
  for (const Json& value : **ids) {
    const auto id = token_id(value, inside);
    if (!id) return pass(id);
    out.push_back(*id);
  }
  return out;
}

Status read_template(const Json& json, std::string_view where, TokenizerData& data) {
  const auto single = array_field(json, "single", where);
  if (!single) return pass(single);
  std::vector<int32_t> before;
  bool after = false;  // the text has come
  for (const Json& part : **single) {
    if (find_field(part, "Sequence")) {
      after = true;
      continue;
    }
    const auto token = object_field(part, "SpecialToken", fmt::format("{}.single", where));
    if (!token) return pass(token);
    const auto name = string_field(**token, "id", fmt::format("{}.single", where));
    if (!name) return pass(name);
    const auto ids = template_ids(json, *name, where);
    if (!ids) return pass(ids);
    auto& to = after ? data.after : before;
    to.insert(to.end(), ids->begin(), ids->end());
  }
  data.before.insert(data.before.begin(), before.begin(), before.end());
  return {};
}

Status read_post_processor(const Json& json, std::string_view where, TokenizerData& data) {
  const auto type = string_field(json, "type", where);
  if (!type) return pass(type);
  if (*type == "ByteLevel") return {};
  if (*type == "TemplateProcessing") return read_template(json, where, data);
  if (*type != "Sequence") {
    return fail("{}.type is \"{}\"; expected ByteLevel, TemplateProcessing or a Sequence of these", where,
                *type);
  }
  const auto parts = array_field(json, "processors", where);
  if (!parts) return pass(parts);
  for (size_t i = 0; i < (*parts)->size(); ++i) {
    const auto inside = fmt::format("{}.processors[{}]", where, i);
    if (auto ok = read_post_processor((**parts)[i], inside, data); !ok) return ok;
  }
  return {};
}

Status check_decoder(const Json& json, std::string_view where) {
  const auto type = string_field(json, "type", where);
  if (!type) return pass(type);
  if (*type != "ByteLevel") return fail("{}.type is \"{}\"; expected ByteLevel", where, *type);
  return {};
}

Status read_all(const Json& json, std::string_view source, TokenizerData& data) {
  if (auto ok = read_model(json, source, data); !ok) return ok;
  const std::string top = fmt::format("{}: tokenizer", source);
  if (const Json* part = find_field(json, "normalizer")) {
    auto normalizer = Normalizer::from_json(*part, fmt::format("{}: normalizer", source));
    if (!normalizer) return pass(normalizer);
    data.normalizer = std::move(*normalizer);
  }
  const auto part = object_field(json, "pre_tokenizer", top);
  if (!part) return pass(part);
  auto pre_tokenizer = PreTokenizer::from_json(**part, fmt::format("{}: pre_tokenizer", source));
  if (!pre_tokenizer) return pass(pre_tokenizer);
  data.pre_tokenizer = std::move(*pre_tokenizer);
  if (const Json* decoder = find_field(json, "decoder")) {
    if (auto ok = check_decoder(*decoder, fmt::format("{}: decoder", source)); !ok) return ok;
  }
  if (auto ok = read_added_tokens(json, source, data); !ok) return ok;
  if (const Json* post = find_field(json, "post_processor")) {
    return read_post_processor(*post, fmt::format("{}: post_processor", source), data);
  }
  return {};
}

}  // namespace

Result<TokenizerData> read_tokenizer_json(std::string_view text, std::string_view source) {
  const auto json = parse_json(text, source);
  if (!json) return pass(json);
  TokenizerData data;
  if (auto ok = read_all(*json, source, data); !ok) return pass(ok);
  if (auto ok = data.finish(source); !ok) return pass(ok);
  return data;
}

}  // namespace nereus::text
