#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/base/result.h"
#include "nereus/text/regex.h"

namespace nereus::text {

/// ByteLevel's own pattern, that of GPT-2.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Cuts text into the pieces that BPE works on, by the steps of a tokenizer.json's `pre_tokenizer`; each step
/// cuts the pieces of the one before. Immutable and thread-safe.
class PreTokenizer {
 public:
  /// What becomes of the matches of a pattern (HF's SplitDelimiterBehavior).
  enum class Behavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };
  struct Step {
    std::optional<Regex> pattern{};  ///< without one the step does not cut
    Behavior behavior = Behavior::isolated;
    bool invert = false;        ///< what lies between the matches counts as match
    bool prefix_space = false;  ///< pieces that do not begin with a space get one, before the cut
  };

  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<Step> steps) : steps_(std::move(steps)) {}
  /// ByteLevel, or a Sequence of Split and Digits that ends with it. `where` names file and key in errors.
  static Result<PreTokenizer> from_json(const Json& json, std::string_view where);
  /// Splits that isolate the matches of each pattern in turn.
  static Result<PreTokenizer> from_patterns(const std::vector<std::string_view>& patterns,
                                            std::string_view where);

  /// Cuts `text`, which gains the spaces that steps put in front; no piece is empty.
  /// REQUIRES: `text` is valid UTF-8.
  std::vector<Span> split(std::string& text) const;

 private:
  std::vector<Step> steps_;
};

/// Parts of a text of `size` bytes, given the matches of a pattern in it.
std::vector<Span> cut(size_t size, const std::vector<Span>& matches, PreTokenizer::Behavior behavior,
                      bool invert);

}  // namespace nereus::text
