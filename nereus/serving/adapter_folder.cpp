#include "nereus/serving/adapter_folder.h"

#include <algorithm>

namespace nereus::serving {

namespace fs = std::filesystem;

Status check_adapter_folder(const std::string& path, const std::string& fingerprint, ReadPatience patience) {
  std::error_code code;
  const fs::path folder = fs::weakly_canonical(path, code);
  const int64_t version = version_of(folder.filename().string());
  // Only the bucket names folders so, and it never does without a manifest.
  if (version < 0 && !fs::exists(folder / kManifestName, code)) return {};
  if (version < 0)
    return fail("{}: has a manifest, but is not named as a version of a bucket: policy-vN", folder.string());
  if (!fs::is_directory(folder.parent_path(), code)) return fail("{}: no such folder", folder.string());
  auto bucket = Bucket::open(folder.parent_path());
  if (!bucket) return pass(bucket);
  bucket->set_patience(patience);
  const auto manifest = bucket->verify(version);
  if (!manifest) return pass(manifest);
  if (!fingerprint.empty() && !manifest->base.empty() && manifest->base != fingerprint)
    return fail("{}: is for the base model with the fingerprint {}, this server has {}", folder.string(),
                manifest->base, fingerprint);
  return {};
}

AdapterHooks with_checked_folders(AdapterHooks hooks, std::string fingerprint, ReadPatience patience) {
  const auto inner = hooks.load;
  hooks.load = [inner, fingerprint = std::move(fingerprint), patience](
                   const std::string& name, const std::string& path) -> Result<std::function<void()>> {
    if (auto checked = check_adapter_folder(path, fingerprint, patience); !checked) return pass(checked);
    return inner(name, path);
  };
  return hooks;
}

Result<fs::path> adapter_path(const std::string& asked, const fs::path& root) {
  if (asked.empty() || asked.find('\0') != std::string::npos)
    return fail("expected the folder of an adapter");
  std::error_code code;
  const fs::path path = fs::weakly_canonical(root.empty() ? fs::path(asked) : root / asked, code);
  if (code) return fail("{}: {}", asked, code.message());
  if (root.empty()) return path;
  const fs::path inside = fs::weakly_canonical(root, code);
  const auto [end, ignored] = std::mismatch(inside.begin(), inside.end(), path.begin(), path.end());
  if (code || end != inside.end()) return fail("{}: is not within {}", asked, root.string());
  return path;
}

}  // namespace nereus::serving
