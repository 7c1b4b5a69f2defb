#include "nereus/serving/completion_answer.h"

namespace nereus::serving {

namespace {

OrderedJson finish_reason(rollout::Finish finish) {
  switch (finish) {
    case rollout::Finish::stop:
      return "stop";
    case rollout::Finish::length:
      return "length";
    case rollout::Finish::cancelled:
      return "abort";
  }
  return nullptr;
}

/// [[version, tokens], ...] in the order of the tokens.
OrderedJson version_runs(const std::vector<int64_t>& versions) {
  OrderedJson runs = OrderedJson::array();
  for (const int64_t version : versions) {
    if (runs.empty() || runs.back()[0] != version) runs.push_back({version, 0});
    runs.back()[1] = runs.back()[1].get<int64_t>() + 1;
  }
  return runs;
}

OrderedJson bytes_of(std::string_view text) {
  OrderedJson bytes = OrderedJson::array();
  for (const char c : text) bytes.push_back(static_cast<uint8_t>(c));
  return bytes;
}

}  // namespace

CompletionAnswer::CompletionAnswer(const CompletionRequest& request, std::string id, int64_t created,
                                   std::string model, const text::Tokenizer& tokenizer,
                                   rollout::Tokens prompt)
    : request_(request),
      id_(std::move(id)),
      created_(created),
      model_(std::move(model)),
      tokenizer_(tokenizer),
      prompt_(std::move(prompt)),
      choices_(request.count) {}

OrderedJson CompletionAnswer::frame(const char* object) const {
  return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}};
}

/// `offset`: bytes of the text before these tokens, and then after them.
OrderedJson CompletionAnswer::logprobs_json(const rollout::Tokens& tokens, const std::vector<float>& logprobs,
                                            size_t& offset) const {
  if (!request_.logprobs) return nullptr;
  if (request_.chat) {
    OrderedJson content = OrderedJson::array();
    for (size_t i = 0; i < tokens.size(); ++i)
      content.push_back({{"token", tokenizer_.decode({&tokens[i], 1}, false)},
                         {"logprob", logprobs[i]},
                         {"bytes", bytes_of(tokenizer_.bytes(tokens[i]))},
                         {"top_logprobs", OrderedJson::array()}});
    return {{"content", content}};
  }
  OrderedJson texts = OrderedJson::array(), offsets = OrderedJson::array();
  for (const int32_t& token : tokens) {
    texts.push_back(tokenizer_.decode({&token, 1}, false));
    offsets.push_back(offset);
    offset += texts.back().get_ref<const std::string&>().size();
  }
  return {
      {"tokens", texts}, {"token_logprobs", logprobs}, {"top_logprobs", nullptr}, {"text_offset", offsets}};
}

OrderedJson CompletionAnswer::usage(const rollout::Group& group) const {
  size_t completion = 0;
  for (const auto& answer : group.completions) completion += answer.tokens.size();
  return {{"prompt_tokens", prompt_.size()},
          {"completion_tokens", completion},
          {"total_tokens", prompt_.size() + completion},
          {"prompt_tokens_details", {{"cached_tokens", group.cached_tokens}}}};
}

OrderedJson CompletionAnswer::chunk(uint32_t completion, const std::string& text, const OrderedJson& finish) {
  Choice& choice = choices_[completion];
  OrderedJson json = {{"index", completion}};
  if (request_.chat) {
    OrderedJson delta = OrderedJson::object();
    if (!std::exchange(choice.begun, true)) delta["role"] = "assistant";
    delta["content"] = text;
    json["delta"] = delta;
  } else {
    json["text"] = text;
  }
  json["logprobs"] = logprobs_json(choice.tokens, choice.logprobs, choice.offset);
  json["finish_reason"] = finish;
  if (request_.return_token_ids) json["token_ids"] = choice.tokens;
  choice.tokens.clear();
  choice.logprobs.clear();
  OrderedJson whole = frame(request_.chat ? "chat.completion.chunk" : "text_completion");
  whole["choices"] = OrderedJson::array({json});
  return whole;
}

OrderedJson CompletionAnswer::add(const CompletionPiece& piece) {
  Choice& choice = choices_[piece.completion];
  choice.tokens.push_back(piece.token);
  choice.logprobs.push_back(piece.logprob);
  const bool ids_wanted = request_.return_token_ids || request_.logprobs;
  return piece.text.empty() && !ids_wanted ? OrderedJson(nullptr)
                                           : chunk(piece.completion, piece.text, nullptr);
}

std::vector<OrderedJson> CompletionAnswer::last_chunks(const CompletionEnd& end) {
  std::vector<OrderedJson> chunks;
  for (const auto& completion : end.group->completions) {
    OrderedJson last = chunk(completion.index, end.tails[completion.index], finish_reason(completion.finish));
    if (request_.return_token_ids) {
      last["choices"][0]["policy_versions"] = version_runs(completion.versions);
      last["choices"][0]["prompt_token_ids"] = prompt_;
    }
    chunks.push_back(std::move(last));
  }
  if (request_.include_usage) {
    OrderedJson last = frame(request_.chat ? "chat.completion.chunk" : "text_completion");
    last["choices"] = OrderedJson::array();
    last["usage"] = usage(*end.group);
    chunks.push_back(std::move(last));
  }
  return chunks;
}

OrderedJson CompletionAnswer::whole(const CompletionEnd& end) const {
  OrderedJson choices = OrderedJson::array();
  for (const auto& completion : end.group->completions) {
    const std::string& text = end.tails[completion.index];
    OrderedJson json = {{"index", completion.index}};
    if (request_.chat)
      json["message"] = {{"role", "assistant"}, {"content", text}};
    else
      json["text"] = text;
    size_t offset = 0;
    json["logprobs"] = logprobs_json(completion.tokens, completion.logprobs, offset);
    json["finish_reason"] = finish_reason(completion.finish);
    const std::string& stop = end.stops[completion.index];
    json["stop_reason"] = stop.empty() ? OrderedJson(nullptr) : OrderedJson(stop);
    if (request_.return_token_ids) {
      json["token_ids"] = completion.tokens;
      json["prompt_token_ids"] = prompt_;
      json["policy_versions"] = version_runs(completion.versions);
    }
    choices.push_back(std::move(json));
  }
  OrderedJson answer = frame(request_.chat ? "chat.completion" : "text_completion");
  answer["choices"] = choices;
  answer["usage"] = usage(*end.group);
  return answer;
}

}  // namespace nereus::serving
