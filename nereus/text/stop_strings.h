#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nereus::text {

/// Finds the first stop string in a text that comes in pieces, and says how much of it may be shown: text
/// that may be the beginning of a stop string is held back. How the text is cut has no influence. Not
/// thread-safe.
class StopStrings {
 public:
  /// Empty strings never match.
  explicit StopStrings(std::vector<std::string> stops);

  struct Step {
    std::string text{};    ///< safe to show; never any part of the stop string found
    bool stopped = false;  ///< a stop string is complete; later pieces are ignored
  };
  /// REQUIRES: `text` holds whole characters, as StreamDecoder gives them.
  Step push(std::string_view text);
  /// The text held back, once no more can come; "" after a stop. Ready for another text after.
  std::string finish();
  /// The stop string found, "" before that.
  const std::string& found() const { return found_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  std::string found_;
};

}  // namespace nereus::text
