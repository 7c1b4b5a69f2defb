#include "nereus/serving/canary.h"

#include <algorithm>
#include <cmath>

#include "nereus/base/json.h"

namespace nereus::serving {

namespace {

constexpr int kTokens = 8;
constexpr double kTolerance = 1e-5;

const Json* member(const Json* object, const char* key) {
  if (!object || !object->is_object()) return nullptr;
  const auto found = object->find(key);
  return found == object->end() ? nullptr : &*found;
}

}  // namespace

http::Request canary_request(std::string_view model, std::string_view prompt) {
  return http::json_request(
      "POST", "/v1/completions",
      {{"model", model}, {"prompt", prompt}, {"max_tokens", kTokens}, {"temperature", 0}, {"logprobs", 1}});
}

Result<CanaryAnswer> read_canary(const http::Response& answer) {
  if (answer.status != 200) return fail("{}", answer.brief());
  const auto value = parse_json(answer.body, "answer");
  if (!value) return pass(value);
  const Json* choices = member(&*value, "choices");
  const Json* choice = choices && choices->is_array() && !choices->empty() ? &choices->front() : nullptr;
  const Json* text = member(choice, "text");
  if (!text || !text->is_string()) return fail("answer: expected \"choices\" with a \"text\"");
  CanaryAnswer result{text->get<std::string>(), {}};
  const Json* logprobs = member(member(choice, "logprobs"), "token_logprobs");
  if (logprobs && logprobs->is_array())
    for (const auto& logprob : *logprobs)
      result.logprobs.push_back(logprob.is_number() ? logprob.get<double>() : 0);
  return result;
}

bool differs(const CanaryAnswer& a, const CanaryAnswer& b) {
  return a.text != b.text || !std::ranges::equal(a.logprobs, b.logprobs, [](double x, double y) {
           return std::abs(x - y) <= kTolerance;
         });
}

}  // namespace nereus::serving
