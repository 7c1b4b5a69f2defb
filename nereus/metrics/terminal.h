#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::metrics {

/// What the place that text goes to can do.
struct TerminalOptions {
  bool live = false;  ///< lines can be drawn again in place
  bool color = false;
  bool unicode = false;  ///< block characters; otherwise ASCII
  int width = 80;        ///< columns; followed as the window changes where `file` is set
  int file = -1;         ///< descriptor whose window is asked for its width; -1: `width` holds

  /// Looks at a descriptor and the environment: live on a terminal unless TERM is "dumb"; color unless
  /// NO_COLOR is set; unicode where LC_ALL, LC_CTYPE or LANG say UTF-8.
  static TerminalOptions detect(int file);
};

/// A few lines at the bottom of a terminal that are drawn again in place, with lasting lines above them.
/// Where the place is not live only the lasting lines are written. Does not own the stream. Not thread-safe.
class Terminal {
 public:
  Terminal(std::ostream& out, TerminalOptions options) : out_(out), options_(options) {}

  /// Draws `lines` where the last block stood, each cut to the width. Nothing where not live.
  void draw(const std::vector<std::string>& lines);
  /// Writes lasting text, ended by a newline, above the block; the block is drawn again by the next `draw`.
  void print(std::string_view text);
  /// Leaves the block as it stands and starts below it.
  void keep();

  const TerminalOptions& options() const { return options_; }
  /// Columns now.
  int width() const;
  /// `text` within the colour codes, where colour is on. `code` is e.g. "1" (bold), "2" (dim), "32" (green).
  std::string paint(std::string_view code, std::string_view text) const;

 private:
  void erase();

  std::ostream& out_;
  TerminalOptions options_;
  size_t drawn_ = 0;  // lines of the block on the screen
};

/// Columns that `text` takes: code points, without colour codes.
size_t columns(std::string_view text);
/// `text` cut to `width` columns; colour codes are kept whole.
std::string cut(std::string_view text, size_t width);

}  // namespace nereus::metrics
