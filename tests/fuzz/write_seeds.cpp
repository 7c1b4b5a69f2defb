// Writes the first inputs of the fuzzers: small valid files. Usage: write_seeds FOLDER
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "nereus/formats/atomic_file.h"
#include "tests/formats/gguf_builder.h"

namespace {

using nereus::test::GgufBuilder;

constexpr std::string_view kConfig =
    R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 8, "hidden_size": 8,
 "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
 "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "tie_word_embeddings": true, "eos_token_id": [2, 3],
 "rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,
 "high_freq_factor": 4.0, "original_max_position_embeddings": 32}})";

std::string safetensors() {
  return nereus::test::safetensors_bytes(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[16,24]}})",
      std::string(24, 'x'));
}

GgufBuilder model() {
  return GgufBuilder()
      .text("general.architecture", "llama")
      .u32("general.alignment", 32)
      .u32("llama.block_count", 1)
      .u32("llama.context_length", 64)
      .u32("llama.embedding_length", 8)
      .u32("llama.feed_forward_length", 8)
      .u32("llama.attention.head_count", 2)
      .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F)
      .texts("tokenizer.ggml.tokens", {"a", "b"})
      .i32s("tokenizer.ggml.token_type", {1, 3})
      .flag("tokenizer.ggml.add_bos_token", true)
      .tensor("rope_freqs.weight", nereus::test::kTensorF32, {2}, std::string(8, '\x3f'));
}

nereus::Status write_all(const std::filesystem::path& root) {
  const std::pair<const char*, std::string> seeds[] = {
      {"safetensors/two", safetensors()},
      {"safetensors/none", nereus::test::safetensors_bytes("{}", "")},
      {"gguf/model", model().build()},
      {"gguf/blocks", model().tensor("w", nereus::test::kTensorQ4_0, {32}, std::string(18, 'y')).build()},
      {"json/config", std::string(kConfig)},
      {"http/get", "GET /v1/models?a=b HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\n\r\n"},
      {"http/chunks",
       "POST /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n"},
      {"http/answer", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
      {"http/url", "https://example.org:81/v1"},
      {"completion/ids",
       R"({"model": "policy-v1", "prompt": [1, 2, 3], "max_tokens": 4, "n": 2, "seed": 7, "stop": ["a"],
           "temperature": 0.5, "top_p": 0.9, "top_k": -1, "min_p": 0.1, "logprobs": 0, "stream": true})"},
      {"completion/chat",
       R"({"messages": [{"role": "user", "content": "a"}], "stream_options": {"include_usage": true}})"},
      {"completion/manifest",
       R"({"format": 1, "version": 1, "step": 1, "kind": "lora", "base": "b", "files": [{"name": "a", "bytes": 1,
           "sha256": "0000000000000000000000000000000000000000000000000000000000000000"}]})"},
      {"toml/cluster",
       "[network]\nlatency_us = 9\n[[machine]]\nname = \"a\"\ncount = 2\ndevice = \"H100\"\nnetwork_gb_s = "
       "5e1\n"},
      {"toml/own",
       "[[machine]]\ndevice = \"x\"\nmemory_gb = 1\ntflops_bf16 = 2\nmemory_gb_s = 3\nlink_gb_s = "
       "4\nhost_gb_s = 5\n"
       "context_gb = 0.1\n"},
      {"toml/letters", "a = \"\"\"b\\\n c é\"\"\"\nb.\"é\" = [1, 'é', {\"é\" = 0x1}] # é\nc = '''é\n'''\n"},
      // What toml++ 3.3 must not be given.
      {"toml/midst", "s = 0_\"\"\"é\n"},
      {"toml/skipped", "s = \"\"\"b\\\n é\"\"\"\n"},
      {"json/values", R"([1, -2.5e3, true, null, "x\n\u00e9", {"a": []}])"},
  };
  for (const auto& [name, bytes] : seeds) {
    std::filesystem::create_directories((root / name).parent_path());
    if (auto written = nereus::formats::write_file_atomically(root / name, bytes); !written) return written;
  }
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: write_seeds FOLDER\n", stderr);
    return 2;
  }
  const auto written = write_all(arguments[1]);
  if (written) return 0;
  std::fprintf(stderr, "%s\n", written.error().message.c_str());
  return 1;
}
