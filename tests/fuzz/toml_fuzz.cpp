#include "nereus/cluster/cluster_file.h"
#include "tests/fuzz/read_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using nereus::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cluster = nereus::cluster::parse_cluster(text, "fuzz");
  if (!cluster) {
    require(cluster.error().message.starts_with("fuzz:"));
    return 0;
  }
  // What is read must be written and read again to the same text.
  const std::string written = nereus::cluster::cluster_text(*cluster);
  const auto again = nereus::cluster::parse_cluster(written, "again");
  require(again && again->devices() == cluster->devices());
  return 0;
}
