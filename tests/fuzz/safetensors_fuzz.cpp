#include "nereus/formats/safetensors.h"
#include "tests/fuzz/read_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using nereus::fuzz::require;
  const auto file = nereus::formats::SafetensorsFile::parse(nereus::fuzz::as_file(data, size), "fuzz");
  if (!file) {
    require(file.error().message.rfind("fuzz: ", 0) == 0);
    return 0;
  }
  nereus::fuzz::touch(file->tensors());
  for (const auto& tensor : file->tensors()) {
    require(file->find(tensor.name) == &tensor);
    require(nereus::formats::tensor_bytes(tensor.dtype, tensor.shape) ==
            static_cast<int64_t>(tensor.bytes.size()));
  }
  return 0;
}
