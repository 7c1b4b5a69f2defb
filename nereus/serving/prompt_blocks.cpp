#include "nereus/serving/prompt_blocks.h"

#include "nereus/serving/routing.h"

namespace nereus::serving {

namespace {

std::string chat_text(const OrderedJson& messages) {
  std::string text;
  for (const auto& message : messages)
    text += message.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  return text;
}

}  // namespace

std::vector<uint64_t> prompt_blocks(const OrderedJson& request, const std::string& model, size_t block_tokens,
                                    size_t block_bytes) {
  if (const auto messages = request.find("messages"); messages != request.end() && messages->is_array())
    return text_block_hashes(model, chat_text(*messages), block_bytes);
  const auto found = request.find("prompt");
  if (found == request.end()) return {};
  const OrderedJson* prompt = &*found;
  if (prompt->is_array() && !prompt->empty() && !prompt->front().is_number()) prompt = &prompt->front();
  if (prompt->is_string())
    return text_block_hashes(model, prompt->get_ref<const std::string&>(), block_bytes);
  if (!prompt->is_array()) return {};
  std::vector<int32_t> tokens;
  tokens.reserve(prompt->size());
  for (const auto& token : *prompt) {
    if (!token.is_number_integer()) return {};
    tokens.push_back(static_cast<int32_t>(token.get<int64_t>()));
  }
  return block_hashes(model, tokens, block_tokens);
}

}  // namespace nereus::serving
