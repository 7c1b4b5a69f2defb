#include "nereus/text/normalizer.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

#include "nereus/text/json_field.h"

namespace nereus::text {

namespace {

const icu::Normalizer2* instance(Normalizer::Form form) {
  UErrorCode error = U_ZERO_ERROR;
  switch (form) {
    case Normalizer::Form::nfc:
      return icu::Normalizer2::getNFCInstance(error);
    case Normalizer::Form::nfd:
      return icu::Normalizer2::getNFDInstance(error);
    case Normalizer::Form::nfkc:
      return icu::Normalizer2::getNFKCInstance(error);
    case Normalizer::Form::nfkd:
      return icu::Normalizer2::getNFKDInstance(error);
  }
  return nullptr;
}

Status add_forms(const Json& json, std::string_view where, std::vector<Normalizer::Form>& out) {
  const auto type = string_field(json, "type", where);
  if (!type) return pass(type);
  if (*type == "Sequence") {
    const auto parts = array_field(json, "normalizers", where);
    if (!parts) return pass(parts);
    for (const Json& part : **parts) {
      if (auto added = add_forms(part, where, out); !added) return added;
    }
    return {};
  }
  if (*type == "NFC") return out.push_back(Normalizer::Form::nfc), Status{};
  if (*type == "NFD") return out.push_back(Normalizer::Form::nfd), Status{};
  if (*type == "NFKC") return out.push_back(Normalizer::Form::nfkc), Status{};
  if (*type == "NFKD") return out.push_back(Normalizer::Form::nfkd), Status{};
  return fail("{}.type is \"{}\"; expected NFC, NFD, NFKC, NFKD or a Sequence of these", where, *type);
}

std::string normalize(std::string_view text, Normalizer::Form form) {
  std::string out;
  icu::StringByteSink<std::string> sink(&out, static_cast<int32_t>(text.size()));
  UErrorCode error = U_ZERO_ERROR;
  const icu::StringPiece piece(text.data(), static_cast<int32_t>(text.size()));
  const icu::Normalizer2* normalizer = instance(form);
  if (normalizer) normalizer->normalizeUTF8(0, piece, sink, nullptr, error);
  return normalizer && U_SUCCESS(error) ? out : std::string(text);
}

}  // namespace

Result<Normalizer> Normalizer::from_json(const Json& json, std::string_view where) {
  std::vector<Form> forms;
  if (!json.is_null()) {
    if (auto added = add_forms(json, where, forms); !added) return pass(added);
  }
  return Normalizer(std::move(forms));
}

std::string Normalizer::apply(std::string_view text) const {
  std::string out(text);
  for (const Form form : forms_) out = normalize(out, form);
  return out;
}

}  // namespace nereus::text
