#pragma once

#include <filesystem>
#include <string>

#include "nereus/serving/bucket.h"
#include "nereus/serving/engine_thread.h"

namespace nereus::serving {

/// Checks a folder that is to be loaded: one of a bucket must hold what its manifest lists, for this base
/// model (`fingerprint`; "": not checked). What a network file system does not show yet is waited for. A
/// folder without a manifest, as PEFT writes it, passes.
Status check_adapter_folder(const std::string& path, const std::string& fingerprint,
                            ReadPatience patience = {});

/// Hooks whose `load` checks the folder first.
AdapterHooks with_checked_folders(AdapterHooks hooks, std::string fingerprint, ReadPatience patience = {});

/// The folder that a request names, where it is within `root` ("": anywhere). Error: it is outside, or no
/// folder.
Result<std::filesystem::path> adapter_path(const std::string& asked, const std::filesystem::path& root);

}  // namespace nereus::serving
