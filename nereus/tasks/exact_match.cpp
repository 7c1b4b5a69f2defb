#include <algorithm>
#include <utility>

#include "nereus/tasks/match_rewards.h"

namespace nereus::tasks {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

class ExactMatch final : public Reward {
 public:
  ExactMatch(std::string name, std::string column) : name_(std::move(name)), column_(std::move(column)) {}

  const std::string& name() const override { return name_; }

  Result<RewardValues> score(std::span<const RewardInput> inputs) override {
    RewardValues values;
    for (const RewardInput& input : inputs) {
      const auto accepted = accepted_answers(*input.sample);
      if (!accepted) return pass(accepted);
      const bool found = std::ranges::any_of(
          *accepted, [&](const std::string& answer) { return trim(answer) == trim(input.text); });
      values.emplace_back(found ? 1.0 : 0.0);
    }
    return values;
  }

 private:
  Result<std::vector<std::string>> accepted_answers(const Sample& sample) const {
    const auto column = sample.columns.find(column_);
    if (column == sample.columns.end() || !column->is_array()) {
      auto text = column_text(name_, sample, column_);
      if (!text) return pass(text);
      return std::vector{std::move(*text)};
    }
    std::vector<std::string> answers;
    for (const OrderedJson& answer : *column) {
      if (!answer.is_string() && !answer.is_number())
        return fail("reward \"{}\": {}: expected column \"{}\" to hold texts or numbers, not {}", name_,
                    sample.source, column_, answer.type_name());
      answers.push_back(answer.is_string() ? answer.get<std::string>() : answer.dump());
    }
    return answers;
  }

  std::string name_, column_;
};

}  // namespace

std::unique_ptr<Reward> make_exact_match(std::string name, std::string column) {
  return std::make_unique<ExactMatch>(std::move(name), std::move(column));
}

}  // namespace nereus::tasks
