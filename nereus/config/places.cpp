#include "nereus/config/places.h"

#include <algorithm>
#include <ranges>

namespace nereus::config {

void Places::add(std::string key, std::string place) {
  places_.emplace_back(std::move(key), std::move(place));
}

std::string Places::of(std::string_view key) const {
  const auto same = [&](const auto& entry) { return entry.first == key; };
  const auto backwards = places_ | std::views::reverse;
  if (const auto found = std::ranges::find_if(backwards, same); found != backwards.end())
    return found->second;
  const std::string section = std::string(key) + ".";
  const auto inside = [&](const auto& entry) { return entry.first.starts_with(section); };
  const auto first = std::ranges::find_if(places_, inside);
  return first == places_.end() ? source_ : first->second;
}

}  // namespace nereus::config
