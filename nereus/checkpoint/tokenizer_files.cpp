#include "nereus/checkpoint/tokenizer_files.h"

#include <array>
#include <system_error>

#include "nereus/checkpoint/gguf_tokenizer.h"
#include "nereus/formats/atomic_file.h"
#include "nereus/formats/json_file.h"
#include "nereus/formats/mapped_file.h"

namespace nereus::checkpoint {
namespace {

constexpr std::array kFiles = {"tokenizer.json",
                               "tokenizer_config.json",
                               "special_tokens_map.json",
                               "chat_template.jinja",
                               "chat_template.json",
                               "added_tokens.json",
                               "vocab.json",
                               "merges.txt",
                               "tokenizer.model"};

Status copy_file_whole(const std::filesystem::path& from, const std::filesystem::path& to) {
  const auto file = formats::MappedFile::open(from);
  if (!file) return pass(file);
  return formats::write_file_atomically(to, (*file)->bytes());
}

/// What the source lacks is removed, so that no file of another tokenizer stays among the new ones.
Status copy_all(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  if (std::filesystem::equivalent(from, to, error)) return {};
  for (const char* name : kFiles) {
    if (!std::filesystem::exists(from / name)) {
      std::filesystem::remove(to / name, error);
    } else if (auto copied = copy_file_whole(from / name, to / name); !copied) {
      return copied;
    }
  }
  return {};
}

}  // namespace

Status write_tokenizer_files(const std::filesystem::path& folder, const Source& source) {
  if (source.gguf() == nullptr) return copy_all(source.path(), folder);
  const auto tokenizer = tokenizer_json(*source.gguf());
  if (!tokenizer) return pass(tokenizer);
  const auto config = tokenizer_config_json(*source.gguf(), source.config());
  if (!config) return pass(config);
  if (auto written = formats::write_json_file(folder / "tokenizer.json", *tokenizer); !written)
    return written;
  return formats::write_json_file(folder / "tokenizer_config.json", *config);
}

}  // namespace nereus::checkpoint
