#include "nereus/checkpoint/weight_files.h"

#include <utility>

#include "nereus/formats/json_file.h"

namespace nereus::checkpoint {
namespace {

/// A shard's name must stay inside the folder.
bool plain_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

}  // namespace

Result<WeightFiles> WeightFiles::open(const std::filesystem::path& folder) {
  WeightFiles files;
  const auto single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
  if (std::filesystem::exists(single)) {
    auto file = formats::SafetensorsFile::open(single);
    if (!file) return pass(file);
    files.catalogue_ = single.string();
    files.shards_.push_back(std::move(*file));
    for (const auto& tensor : files.shards_.front().tensors()) files.shard_of_[tensor.name] = 0;
    return files;
  }
  if (!std::filesystem::exists(index)) {
    return fail("{}: no weights: expected model.safetensors or model.safetensors.index.json",
                folder.string());
  }
  if (auto opened = files.open_index(folder, index); !opened) return pass(opened);
  return files;
}

Status WeightFiles::open_index(const std::filesystem::path& folder, const std::filesystem::path& index) {
  catalogue_ = index.string();
  const auto json = formats::read_json_file(index);
  if (!json) return pass(json);
  const auto map = json->find("weight_map");
  if (map == json->end() || !map->is_object())
    return fail("{}: key 'weight_map': expected an object", catalogue_);
  for (const auto& [name, file] : map->items()) {
    if (!file.is_string() || !plain_file_name(file.get<std::string>())) {
      return fail("{}: key 'weight_map': tensor '{}': expected a file name", catalogue_, name);
    }
    if (auto added = add_tensor(name, folder / file.get<std::string>()); !added) return added;
  }
  return {};
}

Status WeightFiles::add_tensor(const std::string& name, const std::filesystem::path& file) {
  const auto [place, is_new] = shard_of_file_.emplace(file.string(), shards_.size());
  if (is_new) {
    auto shard = formats::SafetensorsFile::open(file);
    if (!shard) return fail("{} (a shard of {})", shard.error().message, catalogue_);
    shards_.push_back(std::move(*shard));
  }
  if (shards_[place->second].find(name) == nullptr) {
    return fail("{}: tensor '{}' is missing; {} says that it is here", file.string(), name, catalogue_);
  }
  shard_of_[name] = place->second;
  return {};
}

const formats::TensorView* WeightFiles::find(const std::string& name) const {
  const auto found = shard_of_.find(name);
  return found == shard_of_.end() ? nullptr : shards_[found->second].find(name);
}

std::string WeightFiles::file_of(const std::string& name) const {
  const auto found = shard_of_.find(name);
  return found == shard_of_.end() ? catalogue_ : shards_[found->second].source();
}

}  // namespace nereus::checkpoint
