#include "nereus/config/overrides.h"

namespace nereus::config {

namespace {

bool is_key(const std::string& argument) {
  return argument.starts_with("--") && argument.substr(0, argument.find('=')).find('.') != std::string::npos;
}

}  // namespace

Result<Overrides> take_overrides(std::vector<std::string>& arguments) {
  Overrides overrides;
  std::vector<std::string> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const size_t equals = argument.find('=');
    if (!is_key(argument)) {
      rest.push_back(argument);
    } else if (equals != std::string::npos) {
      overrides.emplace_back(argument.substr(2, equals - 2), argument.substr(equals + 1));
    } else {
      if (i + 1 == arguments.size() || arguments[i + 1].starts_with("--"))
        return fail("{}: expected a value after it", argument);
      overrides.emplace_back(argument.substr(2), arguments[++i]);
    }
  }
  arguments = std::move(rest);
  return overrides;
}

}  // namespace nereus::config
