#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/base/result.h"

namespace nereus::text {

/// Unicode normalisation before tokenization, by ICU. Immutable and thread-safe.
class Normalizer {
 public:
  enum class Form { nfc, nfd, nfkc, nfkd };
  Normalizer() = default;
  explicit Normalizer(std::vector<Form> forms) : forms_(std::move(forms)) {}
  /// The `normalizer` of a tokenizer.json: null, NFC, NFD, NFKC, NFKD or a Sequence of these.
  static Result<Normalizer> from_json(const Json& json, std::string_view where);

  bool empty() const { return forms_.empty(); }
  std::string apply(std::string_view text) const;

 private:
  std::vector<Form> forms_;
};

}  // namespace nereus::text
