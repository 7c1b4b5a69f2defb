#include "nereus/formats/gguf.h"
#include "nereus/spec/model_config.h"
#include "nereus/spec/tensor_table.h"
#include "tests/fuzz/read_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using nereus::fuzz::require;
  const auto file = nereus::formats::GgufFile::parse(nereus::fuzz::as_file(data, size), "fuzz");
  if (!file) {
    require(file.error().message.rfind("fuzz: ", 0) == 0);
    return 0;
  }
  nereus::fuzz::touch(file->tensors());
  for (const auto& tensor : file->tensors()) require(file->find(tensor.name) == &tensor);
  const auto config = nereus::spec::config_from_gguf(*file);
  if (config) {
    (void)config->rope_frequencies();
    for (const auto& spec : nereus::spec::tensor_table(*config)) require(spec.elements() > 0);
  }
  return 0;
}
