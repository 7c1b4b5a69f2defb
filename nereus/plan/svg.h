#pragma once

#include <string>
#include <string_view>

namespace nereus::plan {

/// Text for HTML and SVG, attributes too: & < > " ' escaped.
std::string escaped(std::string_view text);

enum class Anchor { start, middle, end };

/// Draws an SVG picture from shapes, in units of pixels; y grows downwards. Colours are classes of the page's
/// style. Not thread-safe.
class Svg {
 public:
  Svg(double width, double height, std::string_view title);
  /// `tip` is shown where the mouse rests on it.
  void rectangle(double x, double y, double width, double height, std::string_view css,
                 std::string_view tip = {});
  void line(double x1, double y1, double x2, double y2, std::string_view css);
  void text(double x, double y, std::string_view words, Anchor anchor = Anchor::start,
            std::string_view css = "t");
  /// The picture so far, as an element of HTML.
  std::string element() const;

 private:
  std::string head_, body_;
};

/// A step of 1, 2 or 5 times a power of ten that divides [0, top] into at most `parts`. REQUIRES: top > 0.
double tick_step(double top, int parts);

}  // namespace nereus::plan
