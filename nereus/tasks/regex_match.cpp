#include <utility>

#include "nereus/tasks/match_rewards.h"
#include "nereus/tasks/pattern.h"

namespace nereus::tasks {
namespace {

class RegexMatch final : public Reward {
 public:
  RegexMatch(std::string name, PatternTemplate parts, Pattern first, std::string first_text)
      : name_(std::move(name)),
        parts_(std::move(parts)),
        pattern_(std::move(first)),
        pattern_text_(std::move(first_text)) {}

  const std::string& name() const override { return name_; }
  std::vector<std::string> take_warnings() override { return std::exchange(warnings_, {}); }

  Result<RewardValues> score(std::span<const RewardInput> inputs) override {
    RewardValues values;
    for (const RewardInput& input : inputs) {
      if (auto status = compile_for(*input.sample); !status) return pass(status);
      const auto found = pattern_.found_in(input.text);
      if (!found)
        warnings_.push_back(fmt::format("reward \"{}\": {}: {}; the completion has no such reward", name_,
                                        input.sample->source, found.error().message));
      values.push_back(found ? std::optional(*found ? 1.0 : 0.0) : std::nullopt);
    }
    return values;
  }

 private:
  /// The completions of one prompt follow each other, so that the last pattern is nearly always the right
  /// one.
  Status compile_for(const Sample& sample) {
    std::string text = parts_.texts.front();
    for (size_t i = 0; i < parts_.columns.size(); ++i) {
      const auto column = column_text(name_, sample, parts_.columns[i]);
      if (!column) return pass(column);
      text += quote_for_pattern(*column) + parts_.texts[i + 1];
    }
    if (text == pattern_text_) return {};
    auto pattern = Pattern::compile(text);
    if (!pattern) return fail("reward \"{}\": {}: {}", name_, sample.source, pattern.error().message);
    pattern_ = std::move(*pattern);
    pattern_text_ = std::move(text);
    return {};
  }

  std::string name_;
  PatternTemplate parts_;
  Pattern pattern_;
  std::string pattern_text_;
  std::vector<std::string> warnings_;
};

}  // namespace

Result<std::unique_ptr<Reward>> make_regex_match(std::string name, const std::string& pattern) {
  if (pattern.empty()) return fail("reward \"{}\": expected a pattern", name);
  PatternTemplate parts = split_placeholders(pattern);
  std::string probe = parts.texts.front();  // with a text in place of each column, to find mistakes at once
  for (size_t i = 1; i < parts.texts.size(); ++i) probe += "x" + parts.texts[i];
  auto compiled = Pattern::compile(probe);
  if (!compiled) return fail("reward \"{}\": {}", name, compiled.error().message);
  return std::make_unique<RegexMatch>(std::move(name), std::move(parts), std::move(*compiled),
                                      std::move(probe));
}

}  // namespace nereus::tasks
