#include "nereus/serving/completion_request.h"

#include <algorithm>

#include "nereus/serving/body_reader.h"

namespace nereus::serving {

namespace {

constexpr double kMaxTemperature = 100;
constexpr size_t kMaxStops = 16;

bool read_ids(const OrderedJson& list, int32_t vocab_size, rollout::Tokens& ids) {
  const int64_t end = vocab_size > 0 ? vocab_size : int64_t{1} << 31;
  ids.clear();
  ids.reserve(list.size());
  for (const auto& id : list) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() >= end) return false;
    ids.push_back(id.get<int32_t>());
  }
  return true;
}

void read_prompt(BodyReader& reader, const RequestLimits& limits, CompletionRequest& request) {
  const OrderedJson* prompt = reader.find("prompt");
  // One prompt in a list is that prompt.
  if (prompt && prompt->is_array() && prompt->size() == 1 && !prompt->front().is_number())
    prompt = &prompt->front();
  if (prompt && prompt->is_string()) {
    request.prompt_text = prompt->get<std::string>();
    return;
  }
  rollout::Tokens ids;
  if (!prompt || !prompt->is_array() || prompt->empty() || !read_ids(*prompt, limits.vocab_size, ids))
    return reader.fail_with(fmt::format(
        "\"prompt\": expected a text or a list of token ids below {}; several prompts are several "
        "requests",
        limits.vocab_size));
  request.prompt_ids = std::move(ids);
}

bool is_message(const OrderedJson& message) {
  if (!message.is_object() || !message.contains("role") || !message["role"].is_string()) return false;
  const auto content = message.find("content");
  return content == message.end() || content->is_null() || content->is_string() || content->is_array();
}

void read_chat(BodyReader& reader, const RequestLimits& limits, CompletionRequest& request) {
  if (const OrderedJson* ids = reader.find("prompt_token_ids")) {
    rollout::Tokens tokens;
    if (!ids->is_array() || ids->empty() || !read_ids(*ids, limits.vocab_size, tokens))
      return reader.fail_with("\"prompt_token_ids\": expected a list of token ids");
    request.prompt_ids = std::move(tokens);
    return;
  }
  const OrderedJson* messages = reader.find("messages");
  if (!messages || !messages->is_array() || messages->empty())
    return reader.fail_with("\"messages\": expected a list of messages");
  if (!std::ranges::all_of(*messages, is_message))
    return reader.fail_with(
        "\"messages\": expected objects with a \"role\", and a text or a list of parts as \"content\"");
  request.messages = *messages;
  request.template_variables = OrderedJson::object();
  if (const OrderedJson* more = reader.object("chat_template_kwargs")) request.template_variables = *more;
  if (const OrderedJson* tools = reader.find("tools")) {
    if (!tools->is_array()) return reader.fail_with("\"tools\": expected a list");
    request.template_variables["tools"] = *tools;
  }
}

void read_stops(BodyReader& reader, const RequestLimits& limits, CompletionRequest& request) {
  if (const OrderedJson* stop = reader.find("stop")) {
    const OrderedJson list = stop->is_string() ? OrderedJson::array({*stop}) : *stop;
    bool right = list.is_array() && list.size() <= kMaxStops;
    if (right)
      for (const auto& text : list) right = right && text.is_string();
    if (!right)
      return reader.fail_with(
          fmt::format("\"stop\": expected a text or a list of at most {} texts", kMaxStops));
    request.stop = list.get<std::vector<std::string>>();
  }
  if (const OrderedJson* ids = reader.find("stop_token_ids"))
    if (!ids->is_array() || !read_ids(*ids, limits.vocab_size, request.sampling.stop_ids))
      reader.fail_with("\"stop_token_ids\": expected a list of token ids");
  reader.flag("ignore_eos", request.ignore_eos);
}

void read_sampling(BodyReader& reader, const RequestLimits& limits, CompletionRequest& request) {
  auto& sampling = request.sampling;
  // OpenAI's default for completions, which has surprised many; chats may be as long as they like.
  sampling.max_new_tokens = request.chat ? limits.default_new_tokens : 16;
  constexpr double kMostTokens = 1 << 30;
  reader.number("max_tokens", 1, kMostTokens, sampling.max_new_tokens);
  reader.number("max_completion_tokens", 1, kMostTokens, sampling.max_new_tokens);
  reader.number("temperature", 0, kMaxTemperature, sampling.temperature);
  reader.number("top_p", 1e-6, 1, sampling.top_p);
  int32_t top_k = 0;  // -1 means all, as in vLLM
  reader.number("top_k", -1, kMostTokens, top_k);
  sampling.top_k = std::max(top_k, 0);
  reader.number("min_p", 0, 1, sampling.min_p);
  reader.number("n", 1, limits.max_count, request.count);
  reader.key64("seed", request.seed);
  reader.key64("prompt_id", request.prompt_id);
}

void read_logprobs(BodyReader& reader, CompletionRequest& request) {
  int32_t alternatives = 0;  // are not listed
  reader.number("top_logprobs", 0, 20, alternatives);
  // Of a completion it is the number of alternatives, which means the tokens themselves too.
  if (const OrderedJson* logprobs = reader.find("logprobs");
      logprobs && logprobs->is_number_integer() && !request.chat)
    request.logprobs = true;
  else if (logprobs && logprobs->is_boolean())
    request.logprobs = logprobs->get<bool>();
  else if (logprobs)
    reader.fail_with(fmt::format("\"logprobs\": expected {}", request.chat ? "true or false" : "a number"));
}

/// What would change the answer and is not there is refused, rather than left out in silence.
void refuse_unsupported(BodyReader& reader) {
  for (const char* key : {"presence_penalty", "frequency_penalty", "min_tokens"}) reader.refuse(key, 0);
  for (const char* key : {"repetition_penalty", "length_penalty"}) reader.refuse(key, 1);
  for (const char* key : {"echo", "use_beam_search", "include_stop_str_in_output"}) reader.refuse(key, false);
  reader.refuse("skip_special_tokens", true);
  for (const char* key : {"logit_bias", "suffix", "bad_words", "allowed_token_ids", "guided_json",
                          "guided_regex", "guided_choice", "guided_grammar", "structured_outputs"})
    if (const auto* value = reader.find(key); value && !value->empty())
      reader.fail_with(fmt::format("\"{}\": is not supported", key));
  if (reader.find("prompt_logprobs")) reader.fail_with("\"prompt_logprobs\": is not supported");
  if (const auto* format = reader.find("response_format");
      format && (!format->is_object() || format->value("type", OrderedJson()) != OrderedJson("text")))
    reader.fail_with("\"response_format\": only {\"type\": \"text\"} is supported");
  if (const auto* best = reader.find("best_of"); best)
    if (const auto* n = reader.find("n"); *best != (n ? *n : OrderedJson(1)))
      reader.fail_with("\"best_of\": is not supported");
}

}  // namespace

Result<CompletionRequest> read_completion_request(const OrderedJson& body, bool chat,
                                                  const RequestLimits& limits) {
  if (!body.is_object()) return fail("expected a JSON object");
  CompletionRequest request;
  request.chat = chat;
  BodyReader reader(body);
  reader.text("model", request.model);
  if (chat)
    read_chat(reader, limits, request);
  else
    read_prompt(reader, limits, request);
  read_sampling(reader, limits, request);
  read_stops(reader, limits, request);
  read_logprobs(reader, request);
  reader.flag("return_token_ids", request.return_token_ids);
  reader.flag("stream", request.stream);
  if (const auto* options = reader.object("stream_options")) {
    BodyReader inner(*options);
    inner.flag("include_usage", request.include_usage);
    if (!inner.error().empty()) reader.fail_with("\"stream_options\": " + inner.error());
  }
  refuse_unsupported(reader);
  if (!reader.error().empty()) return fail("{}", reader.error());
  return request;
}

}  // namespace nereus::serving
