#include "nereus/plan/svg.h"

#include <fmt/format.h>

#include <cmath>

namespace nereus::plan {

namespace {

const char* name_of(Anchor anchor) {
  return anchor == Anchor::start ? "start" : anchor == Anchor::middle ? "middle" : "end";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Svg::Svg(double width, double height, std::string_view title)
    : head_(fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" role=\"img\" aria-label=\"{}\">",
                        width, height, width, escaped(title))) {}

void Svg::rectangle(double x, double y, double width, double height, std::string_view css,
                    std::string_view tip) {
  body_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\">", x,
                       y, width, height, css);
  if (!tip.empty()) body_ += "<title>" + escaped(tip) + "</title>";
  body_ += "</rect>";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view css) {
  body_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>", x1, y1,
                       x2, y2, css);
}

void Svg::text(double x, double y, std::string_view words, Anchor anchor, std::string_view css) {
  body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>", x, y,
                       name_of(anchor), css, escaped(words));
}

std::string Svg::element() const {
  return head_ + body_ + "</svg>\n";
}

double tick_step(double top, int parts) {
  const double power = std::pow(10, std::floor(std::log10(top / parts)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (top / (factor * power) <= parts * (1 + 1e-9)) return factor * power;
  return 10 * power;
}

}  // namespace nereus::plan
