#pragma once

#include <span>
#include <string>

namespace nereus::metrics {

/// "9.5 s", "1:05", "2:00:07"; "?" where it is not finite or negative.
std::string duration(double seconds);

/// A bar of `width` columns filled to `fraction` (cut to 0..1).
std::string bar(double fraction, int width, bool unicode);

/// Values over time as a line of blocks of at most `width` columns, lowest to highest; several values share a
/// column (their mean) where there are more. Values that are not finite are left out. Empty without unicode.
std::string sparkline(std::span<const double> values, int width, bool unicode);

/// Three significant digits: "0.531", "24.1", "1234".
std::string number(double value);

}  // namespace nereus::metrics
