#include "nereus/serving/completion_request.h"
#include "nereus/serving/manifest.h"
#include "nereus/serving/request_outline.h"
#include "tests/fuzz/read_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nereus;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = parse_ordered_json(text, "fuzz");
  // The proxy takes what a server would: an object, with no key that decides twice.
  const auto outline = serving::read_outline(text, 16, 64);
  if (outline) fuzz::require(value && value->is_object());
  if (!value) return 0;
  for (const bool chat : {false, true}) {
    const auto request = serving::read_completion_request(*value, chat, {.vocab_size = 1000});
    if (!request) continue;
    fuzz::require(request->count >= 1 && request->count <= 128 && request->sampling.max_new_tokens >= 1);
    if (request->prompt_ids)
      for (const int32_t id : *request->prompt_ids) fuzz::require(id >= 0 && id < 1000);
  }
  const auto manifest = serving::Manifest::from_json(Json::parse(text, nullptr, false), "fuzz");
  if (manifest)
    for (const auto& file : manifest->files) fuzz::require(serving::safe_name(file.name));
  return 0;
}
