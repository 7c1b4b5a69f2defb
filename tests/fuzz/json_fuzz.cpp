#include "nereus/base/json.h"
#include "nereus/spec/model_config.h"
#include "nereus/spec/tensor_table.h"
#include "tests/fuzz/read_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using nereus::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = nereus::parse_json(text, "fuzz");
  require(value.has_value() == nereus::parse_ordered_json(text, "fuzz").has_value());
  if (!value) {
    require(value.error().message.rfind("fuzz: ", 0) == 0);
    return 0;
  }
  // What is read must be printed and read again to the same value.
  const auto again = nereus::parse_json(value->dump(), "again");
  require(again && *again == *value);
  auto config = nereus::spec::config_from_json(*value, "fuzz");
  if (!config) return 0;
  (void)nereus::spec::add_generation_config(*config, *value, "fuzz");
  for (const auto& spec : nereus::spec::tensor_table(*config)) require(spec.elements() > 0);
  const auto written = nereus::Json::parse(nereus::spec::config_to_json(*config).dump());
  require(nereus::spec::config_from_json(written, "written").has_value());
  return 0;
}
