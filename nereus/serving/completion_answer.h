#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/rollout/types.h"
#include "nereus/serving/completion_request.h"
#include "nereus/serving/completion_stream.h"
#include "nereus/text/tokenizer.h"

namespace nereus::serving {

/// The JSON of answers to completions and chats, whole or in chunks, as OpenAI's clients read it. With
/// "return_token_ids" ids come as vLLM gives them; "policy_versions" of a choice lists [version, tokens]
/// runs. Not thread-safe.
class CompletionAnswer {
 public:
  CompletionAnswer(const CompletionRequest& request, std::string id, int64_t created, std::string model,
                   const text::Tokenizer& tokenizer, rollout::Tokens prompt);

  /// Takes a piece of a stream and gives the chunk that shows it; null where there is nothing to show yet.
  OrderedJson add(const CompletionPiece& piece);
  /// The last chunks of a stream, with finish reasons and the tails of texts. REQUIRES: the end has a group.
  std::vector<OrderedJson> last_chunks(const CompletionEnd& end);
  /// The whole answer. REQUIRES: it is no stream, and the end has a group.
  OrderedJson whole(const CompletionEnd& end) const;

 private:
  /// Where a choice of a stream stands.
  struct Choice {
    rollout::Tokens tokens;  // that no chunk has told of yet
    std::vector<float> logprobs;
    size_t offset = 0;  // bytes of the tokens before them
    bool begun = false;
  };
  OrderedJson frame(const char* object) const;
  OrderedJson chunk(uint32_t completion, const std::string& text, const OrderedJson& finish);
  OrderedJson logprobs_json(const rollout::Tokens& tokens, const std::vector<float>& logprobs,
                            size_t& offset) const;
  OrderedJson usage(const rollout::Group& group) const;

  const CompletionRequest& request_;
  const std::string id_;
  const int64_t created_;
  const std::string model_;
  const text::Tokenizer& tokenizer_;
  const rollout::Tokens prompt_;
  std::vector<Choice> choices_;
};

}  // namespace nereus::serving
