#pragma once

#include <span>
#include <string>

#include "nereus/formats/atomic_file.h"
#include "nereus/serving/bucket.h"

namespace nereus::test {

/// Publishes files as a trainer does: written into a draft, which the bucket takes.
inline Result<serving::Manifest> publish_files(serving::Bucket& bucket, int64_t version, int64_t step,
                                               const std::string& base,
                                               std::span<const serving::NewFile> files) {
  auto draft = bucket.draft();
  if (!draft) return pass(draft);
  for (const auto& file : files)
    if (auto written = formats::write_file_atomically(draft->folder() / file.name, file.bytes); !written)
      return pass(written);
  return bucket.publish(version, step, base, std::move(*draft));
}

}  // namespace nereus::test
