#include <algorithm>

#include "nereus/tasks/problems.h"

namespace nereus::tasks {
namespace {

constexpr std::string_view kLetters = "aeinorst";  // few, so that letters come more than once

class CountLetters final : public Problems {
 public:
  CountLetters(size_t letters, uint64_t size) : letters_(letters), size_(size) {}

  uint64_t size() const override { return size_; }

  /// The digits of `index` in base 8: the letter to count, then the word.
  Problem at(uint64_t index) const override {
    const char letter = take(index);
    std::string word;
    for (size_t i = 0; i < letters_; ++i) word += take(index);
    return {fmt::format("How many times does the letter \"{}\" occur in \"{}\"? Reply with the number only.",
                        letter, word),
            fmt::format("{}", std::ranges::count(word, letter))};
  }

 private:
  static char take(uint64_t& index) {
    const char letter = kLetters[index % kLetters.size()];
    index /= kLetters.size();
    return letter;
  }

  size_t letters_;
  uint64_t size_;
};

}  // namespace

Result<std::unique_ptr<Problems>> count_letters(const ProblemOptions& options) {
  if (options.min || options.max) return fail("task count_letters: has no options \"min\" and \"max\"");
  const int64_t letters = options.count.value_or(8);
  if (letters < 1 || letters > 19)
    return fail("task count_letters: expected count from 1 to 19, not {}", letters);
  return std::make_unique<CountLetters>(static_cast<size_t>(letters), uint64_t{1} << (3 * (letters + 1)));
}

}  // namespace nereus::tasks
