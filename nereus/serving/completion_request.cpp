#include "nereus/serving/completion_request.h"

#include <cmath>

namespace nereus::serving {

namespace {

constexpr double kMaxTemperature = 100;
constexpr size_t kMaxStops = 16;

/// Reads keys one by one; the first error is kept.
class Reader {
 public:
  explicit Reader(const OrderedJson& body) : body_(body) {}

  /// The value, or null where it is absent or null.
  const OrderedJson* find(const char* key) const {
    const auto found = body_.find(key);
    return found == body_.end() || found->is_null() ? nullptr : &*found;
  }
  template <class T>
  void number(const char* key, double least, double most, T& value) {
    const OrderedJson* found = find(key);
    if (!found || !error_.empty()) return;
    const bool right = std::is_floating_point_v<T> ? found->is_number() : found->is_number_integer();
    const double given = right ? found->get<double>() : 0;
    if (!right || !(given >= least) || given > most) {
      error_ = fmt::format("\"{}\": expected a{} from {} to {}", key,
                           std::is_floating_point_v<T> ? " number" : "n integer", least, most);
      return;
    }
    value = found->get<T>();
  }
  void key64(const char* key, std::optional<uint64_t>& value) {
    const OrderedJson* found = find(key);
    if (!found || !error_.empty()) return;
    if (!found->is_number_integer()) {
      error_ = fmt::format("\"{}\": expected an integer", key);
      return;
    }
    // Negative seeds are as good as others.
    value =
        found->is_number_unsigned() ? found->get<uint64_t>() : static_cast<uint64_t>(found->get<int64_t>());
  }
  void flag(const char* key, bool& value) {
    const OrderedJson* found = find(key);
    if (!found || !error_.empty()) return;
    if (!found->is_boolean())
      error_ = fmt::format("\"{}\": expected true or false", key);
    else
      value = found->get<bool>();
  }
  void text(const char* key, std::string& value) {
    const OrderedJson* found = find(key);
    if (!found || !error_.empty()) return;
    if (!found->is_string())
      error_ = fmt::format("\"{}\": expected a text", key);
    else
      value = found->get<std::string>();
  }
  void fail_with(std::string message) {
    if (error_.empty()) error_ = std::move(message);
  }
  const std::string& error() const { return error_; }

 private:
  const OrderedJson& body_;
  std::string error_;
};

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

void read_prompt(Reader& reader, const RequestLimits& limits, CompletionRequest& request) {
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

void read_chat(Reader& reader, const RequestLimits& limits, CompletionRequest& request) {
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
  for (const auto& message : *messages)
    if (!message.is_object() || !message.contains("role"))
      return reader.fail_with("\"messages\": expected objects with a \"role\"");
  request.messages = *messages;
  request.template_variables = OrderedJson::object();
  if (const OrderedJson* more = reader.find("chat_template_kwargs"); more && more->is_object())
    request.template_variables = *more;
  if (const OrderedJson* tools = reader.find("tools")) request.template_variables["tools"] = *tools;
}

void read_stops(Reader& reader, const RequestLimits& limits, CompletionRequest& request) {
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

void read_sampling(Reader& reader, const RequestLimits& limits, CompletionRequest& request) {
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

void read_logprobs(Reader& reader, CompletionRequest& request) {
  const OrderedJson* logprobs = reader.find("logprobs");
  if (!logprobs) return;
  if (logprobs->is_boolean())
    request.logprobs = logprobs->get<bool>();
  else if (logprobs->is_number_integer() && !request.chat)
    request.logprobs = true;  // of the tokens themselves; alternatives are not listed
  else
    reader.fail_with(fmt::format("\"logprobs\": expected {}", request.chat ? "true or false" : "a number"));
}

/// What would change the answer and is not there is refused, rather than left out in silence.
void refuse_unsupported(Reader& reader) {
  for (const char* key : {"presence_penalty", "frequency_penalty"})
    if (const auto* value = reader.find(key); value && *value != OrderedJson(0) && *value != OrderedJson(0.0))
      reader.fail_with(fmt::format("\"{}\": only 0 is supported", key));
  if (const auto* value = reader.find("repetition_penalty");
      value && *value != OrderedJson(1) && *value != OrderedJson(1.0))
    reader.fail_with("\"repetition_penalty\": only 1 is supported");
  for (const char* key : {"logit_bias", "suffix", "guided_json", "guided_regex", "guided_choice"})
    if (const auto* value = reader.find(key); value && !value->empty())
      reader.fail_with(fmt::format("\"{}\": is not supported", key));
  if (const auto* echo = reader.find("echo"); echo && *echo != OrderedJson(false))
    reader.fail_with("\"echo\": is not supported");
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
  Reader reader(body);
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
  if (const auto* options = reader.find("stream_options"); options && options->is_object())
    request.include_usage = options->value("include_usage", OrderedJson(false)) == OrderedJson(true);
  refuse_unsupported(reader);
  if (!reader.error().empty()) return fail("{}", reader.error());
  return request;
}

}  // namespace nereus::serving
