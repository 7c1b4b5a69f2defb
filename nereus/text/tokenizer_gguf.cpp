// Reads the `tokenizer.*` keys of a GGUF file.
#include <array>

#include "nereus/text/gguf_pre_tokenizer.h"
#include "nereus/text/json_field.h"
#include "nereus/text/tokenizer_data.h"

namespace nereus::text {

namespace {

/// Values of `tokenizer.ggml.token_type`.
enum TokenType : int64_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4 };

/// Control tokens that end a turn or a text whether or not a key says so: files name one end, and models with
/// several (Llama 3) use them all.
constexpr std::array<std::string_view, 4> kEnds = {"<|eot_id|>", "<|eom_id|>", "<|end_of_text|>",
                                                   "<|im_end|>"};

class GgufReader {
 public:
  explicit GgufReader(const formats::GgufFile& file) : json_(file.metadata()), where_(file.source()) {}

  Result<TokenizerData> read() {
    for (const auto step : {&GgufReader::check_model, &GgufReader::read_vocabulary, &GgufReader::read_bpe,
                            &GgufReader::read_added, &GgufReader::read_special}) {
      if (auto ok = (this->*step)(); !ok) return pass(ok);
    }
    if (auto ok = data_.finish(where_); !ok) return pass(ok);
    return std::move(data_);
  }

 private:
  std::string key(std::string_view name) const { return fmt::format("{}: {}", where_, name); }

  Status check_model() {
    const auto model = string_field(json_, "tokenizer.ggml.model", where_);
    if (!model) return pass(model);
    if (*model != "gpt2") {
      return fail("{} is \"{}\"; expected \"gpt2\" (byte-level BPE)", key("tokenizer.ggml.model"), *model);
    }
    return {};
  }

  Status read_vocabulary() {
    const auto tokens = array_field(json_, "tokenizer.ggml.tokens", where_);
    if (!tokens) return pass(tokens);
    for (size_t i = 0; i < (*tokens)->size(); ++i) {
      const std::string where = fmt::format("{}[{}]", key("tokenizer.ggml.tokens"), i);
      const auto id = token_id(Json(i), where);
      if (!id) return pass(id);
      const Json& text = (**tokens)[i];
      if (!text.is_string()) return fail("{}: expected a string", where);
      if (auto added = data_.add_vocabulary(*id, text.get<std::string>(), where); !added) return added;
    }
    return {};
  }

  Status read_bpe() {
    const Json* name = find_field(json_, "tokenizer.ggml.pre");
    if (name && !name->is_string()) return fail("{}: expected a string", key("tokenizer.ggml.pre"));
    auto pre = gguf_pre_tokenizer(name ? name->get<std::string>() : "default", key("tokenizer.ggml.pre"));
    if (!pre) return pass(pre);
    add_bos_ = pre->add_bos;
    data_.pre_tokenizer = std::move(pre->pre_tokenizer);
    data_.normalizer = std::move(pre->normalizer);
    const auto merges = array_field(json_, "tokenizer.ggml.merges", where_);
    if (!merges) return pass(merges);
    BpeFile file{.ignore_merges = pre->ignore_merges, .merges_key = key("tokenizer.ggml.merges")};
    for (const Json& merge : **merges) {
      if (!merge.is_string()) return fail("{}: expected strings", file.merges_key);
      const auto halves = split_merge(merge.get_ref<const std::string&>(), file.merges_key);
      if (!halves) return pass(halves);
      file.merges.push_back(*halves);
    }
    auto bpe = build_bpe(data_, file);
    if (!bpe) return pass(bpe);
    data_.bpe = std::move(*bpe);
    return {};
  }

  Status read_added() {
    if (!find_field(json_, "tokenizer.ggml.token_type")) return {};
    const auto types = array_field(json_, "tokenizer.ggml.token_type", where_);
    if (!types) return pass(types);
    if ((*types)->size() != data_.tokens.size()) {
      return fail("{}: expected {} values, as many as tokens", key("tokenizer.ggml.token_type"),
                  data_.tokens.size());
    }
    for (size_t i = 0; i < (*types)->size(); ++i) {
      const Json& type = (**types)[i];
      const bool special = type == kControl || type == kUnknown;
      if (special || type == kUserDefined) {
        data_.add_added({.id = static_cast<int32_t>(i), .content = data_.tokens[i].text, .special = special});
      }
    }
    return {};
  }

  /// The id at `tokenizer.ggml.NAME_token_id`, if there.
  Result<std::optional<int32_t>> special_id(std::string_view name) const {
    const std::string full = fmt::format("tokenizer.ggml.{}_token_id", name);
    const Json* value = find_field(json_, full);
    if (!value) return std::nullopt;
    const auto id = token_id(*value, key(full));
    if (!id) return pass(id);
    if (static_cast<size_t>(*id) >= data_.tokens.size()) {
      return fail("{} is {}, and there are {} tokens", key(full), *id, data_.tokens.size());
    }
    return *id;
  }

  Status read_special() {
    const std::pair<const char*, std::string*> texts[] = {{"bos", &data_.bos_text},
                                                          {"eos", &data_.eos_text},
                                                          {"padding", &data_.pad_text},
                                                          {"unknown", &data_.unk_text}};
    for (const auto& [name, text] : texts) {
      const auto id = special_id(name);
      if (!id) return pass(id);
      if (*id) *text = data_.tokens[static_cast<size_t>(**id)].text;
    }
    data_.bos = special_id("bos").value();
    if (auto ok = read_ends(); !ok) return ok;
    if (auto ok = read_template(); !ok) return ok;
    if (const Json* text = find_field(json_, "tokenizer.chat_template"); text && text->is_string()) {
      data_.chat_template = text->get<std::string>();
    }
    return {};
  }

  Status read_ends() {
    for (const char* name : {"eos", "eot", "eom"}) {
      const auto id = special_id(name);
      if (!id) return pass(id);
      if (*id) data_.add_eos(**id);
    }
    for (const auto text : kEnds) {
      const auto id = data_.find(text);
      if (id && data_.tokens[static_cast<size_t>(*id)].special) data_.add_eos(*id);
    }
    return {};
  }

  /// What comes around every text.
  Status read_template() {
    const auto add_bos = bool_field(json_, "tokenizer.ggml.add_bos_token", add_bos_, where_);
    if (!add_bos) return pass(add_bos);
    if (*add_bos && data_.bos) data_.before = {*data_.bos};
    const auto add_eos = bool_field(json_, "tokenizer.ggml.add_eos_token", false, where_);
    if (!add_eos) return pass(add_eos);
    if (*add_eos && !data_.eos.empty()) data_.after = {data_.eos.front()};
    return {};
  }

  const Json& json_;
  std::string where_;
  TokenizerData data_;
  bool add_bos_ = false;
};

}  // namespace

Result<TokenizerData> read_tokenizer_gguf(const formats::GgufFile& file) {
  return GgufReader(file).read();
}

}  // namespace nereus::text
