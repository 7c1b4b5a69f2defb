// Gives a fuzzer's function all files of a folder, and each of them cut off anywhere and with any byte
// changed: what the usual build runs in libFuzzer's place.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

int64_t inputs = 0;

void give(const std::string& bytes) {
  // A string has a byte behind its end, where a sanitizer would not see a read.
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
  ++inputs;
}

void give_broken(const std::string& bytes) {
  give(bytes);
  for (size_t length = 0; length < bytes.size(); ++length) give(bytes.substr(0, length));
  for (size_t at = 0; at < bytes.size(); ++at)
    for (const int change : {0x01, 0x20, 0x80, 0xFF}) {
      std::string other = bytes;
      other[at] = static_cast<char>(other[at] ^ change);
      give(other);
    }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  for (const auto& file : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream stream(file.path(), std::ios::binary);
    give_broken({std::istreambuf_iterator<char>(stream), {}});
  }
  std::printf("%lld inputs\n", static_cast<long long>(inputs));
  return inputs > 0 ? 0 : 1;
}
