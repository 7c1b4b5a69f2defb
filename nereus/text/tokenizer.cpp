#include "nereus/text/tokenizer.h"

#include "nereus/text/tokenizer_data.h"
#include "nereus/text/utf8.h"

namespace nereus::text {

namespace {

using Finder = AddedTokenFinder;

/// Gives each added token's id to `on_id` and each text between to `on_text`, in order.
template <class OnId, class OnText>
void visit(const Finder& finder, std::string_view text, OnId on_id, OnText on_text) {
  for (const Finder::Segment& segment : finder.split(text)) {
    if (segment.id) {
      on_id(*segment.id);
    } else {
      on_text(text.substr(segment.span.begin, segment.span.end - segment.span.begin));
    }
  }
}

void encode_valid(const TokenizerData& data, std::string_view text, std::vector<int32_t>& out) {
  Bpe::Scratch scratch;
  const auto on_id = [&](int32_t id) { out.push_back(id); };
  const auto on_text = [&](std::string_view part) {
    std::string cut_text(part);
    const auto pieces = data.pre_tokenizer.split(cut_text);
    for (const Span& piece : pieces) {
      data.bpe.encode(std::string_view(cut_text).substr(piece.begin, piece.end - piece.begin), scratch, out);
    }
  };
  visit(data.raw_finder, text, on_id, [&](std::string_view part) {
    if (data.normalizer.empty()) return visit(data.normalized_finder, part, on_id, on_text);
    visit(data.normalized_finder, data.normalizer.apply(part), on_id, on_text);
  });
}

const TokenizerData::Token* token_at(const TokenizerData& data, int32_t id) {
  const bool known = id >= 0 && static_cast<size_t>(id) < data.tokens.size();
  return known ? &data.tokens[static_cast<size_t>(id)] : nullptr;
}

Result<std::shared_ptr<const TokenizerData>> shared(Result<TokenizerData> data) {
  if (!data) return pass(data);
  return std::make_shared<const TokenizerData>(std::move(*data));
}

}  // namespace

Tokenizer::Tokenizer(std::shared_ptr<const TokenizerData> data) : data_(std::move(data)) {}

Result<Tokenizer> Tokenizer::from_json(std::string_view tokenizer_json, std::string_view source) {
  auto data = shared(read_tokenizer_json(tokenizer_json, source));
  if (!data) return pass(data);
  return Tokenizer(std::move(*data));
}

Result<Tokenizer> Tokenizer::from_gguf(const formats::GgufFile& file) {
  auto data = shared(read_tokenizer_gguf(file));
  if (!data) return pass(data);
  return Tokenizer(std::move(*data));
}

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& model) {
  if (std::filesystem::is_directory(model)) {
    auto data = shared(read_tokenizer_folder(model));
    if (!data) return pass(data);
    return Tokenizer(std::move(*data));
  }
  const auto file = formats::GgufFile::open(model);
  if (!file) return pass(file);
  return from_gguf(*file);
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool add_special) const {
  std::vector<int32_t> out;
  out.reserve(text.size() / 3 + 2);
  if (add_special) out = data_->before;
  if (valid_utf8(text)) {
    encode_valid(*data_, text, out);
  } else {
    encode_valid(*data_, to_valid_utf8(text), out);
  }
  if (add_special) out.insert(out.end(), data_->after.begin(), data_->after.end());
  return out;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string joined;
  for (const int32_t id : ids) {
    if (!skip_special || !special(id)) joined += bytes(id);
  }
  return to_valid_utf8(joined);
}

int32_t Tokenizer::vocab_size() const {
  return static_cast<int32_t>(data_->tokens.size());
}

std::optional<int32_t> Tokenizer::id(std::string_view token) const {
  return data_->find(token);
}

std::string_view Tokenizer::token(int32_t id) const {
  const auto* token = token_at(*data_, id);
  return token ? std::string_view(token->text) : std::string_view();
}

std::string_view Tokenizer::bytes(int32_t id) const {
  const auto* token = token_at(*data_, id);
  return token ? std::string_view(token->bytes) : std::string_view();
}

bool Tokenizer::special(int32_t id) const {
  const auto* token = token_at(*data_, id);
  return token && token->special;
}

std::optional<int32_t> Tokenizer::bos() const {
  return data_->bos;
}
std::vector<int32_t> Tokenizer::eos() const {
  return data_->eos;
}
std::string Tokenizer::bos_text() const {
  return data_->bos_text;
}
std::string Tokenizer::eos_text() const {
  return data_->eos_text;
}
std::string Tokenizer::pad_text() const {
  return data_->pad_text;
}
std::string Tokenizer::unk_text() const {
  return data_->unk_text;
}
const std::string& Tokenizer::chat_template() const {
  return data_->chat_template;
}

}  // namespace nereus::text
