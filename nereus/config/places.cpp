#include "nereus/config/places.h"

#include <algorithm>

namespace nereus::config {

void Places::add(std::string key, std::string place) {
  places_.emplace_back(std::move(key), std::move(place));
}

std::string Places::of(std::string_view key) const {
  const auto same = [&](const auto& entry) { return entry.first == key; };
  // Not std::views::reverse, which clang 14 cannot compile from libstdc++ 12.
  if (const auto found = std::find_if(places_.rbegin(), places_.rend(), same); found != places_.rend())
    return found->second;
  const std::string section = std::string(key) + ".";
  const auto inside = [&](const auto& entry) { return entry.first.starts_with(section); };
  const auto first = std::ranges::find_if(places_, inside);
  return first == places_.end() ? source_ : first->second;
}

}  // namespace nereus::config
