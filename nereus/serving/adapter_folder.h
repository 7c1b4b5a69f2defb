#pragma once

#include <filesystem>
#include <string>

#include "nereus/serving/bucket.h"
#include "nereus/serving/engine_thread.h"

namespace nereus::serving {

/// A loader that first checks what it is given: a folder with a manifest must hold what the manifest lists,
/// for this base model (`fingerprint`; "": not checked). What a network file system does not show yet is
/// waited for. A folder without a manifest, as PEFT writes it, goes to `inner` as it is.
AdapterLoader checked_loader(AdapterLoader inner, std::string fingerprint, ReadPatience patience = {});

/// The folder that a request names, where it is within `root` ("": anywhere). Error: it is outside, or no
/// folder.
Result<std::filesystem::path> adapter_path(const std::string& asked, const std::filesystem::path& root);

}  // namespace nereus::serving
