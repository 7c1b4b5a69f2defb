#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nereus/base/clock.h"
#include "nereus/base/result.h"
#include "nereus/serving/manifest.h"

namespace nereus::serving {

/// A file that was read elsewhere.
struct NewFile {
  std::string name;
  std::span<const std::byte> bytes;
};

/// A folder in a bucket in which a version is made, under a name that readers pass over. Removed with the
/// object, unless it was published. Not thread-safe.
class Draft {
 public:
  explicit Draft(std::filesystem::path folder) : folder_(std::move(folder)) {}
  Draft(Draft&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  Draft& operator=(Draft&&) = delete;
  ~Draft();
  const std::filesystem::path& folder() const { return folder_; }
  /// It has another name now.
  void keep() { folder_.clear(); }

 private:
  std::filesystem::path folder_;
};

/// How long a reader waits for what a network file system has not shown yet.
struct ReadPatience {
  double seconds = 5;
  double first_pause_seconds = 0.01;  ///< doubles from try to try
};

/// A folder, local or shared by network, in which the trainer publishes the versions of the policy and from
/// which servers read them:
///
///   ROOT/policy-v7/manifest.json and the files that it lists
///
/// A version appears whole or not at all, and never changes. One trainer writes; any number of processes
/// read. Not thread-safe.
class Bucket {
 public:
  /// Makes the folder where it is missing.
  static Result<Bucket> open(const std::filesystem::path& root);

  /// An empty folder for the files of the next version; in the bucket, so that it is moved to its place and
  /// never copied.
  Result<Draft> draft() const;
  /// Makes all files of a draft a version: they, the manifest and the folders are on the disk when it
  /// returns. Error: the version is not newer than the newest there (nothing is ever published backwards), or
  /// the disk is full or read-only; nothing of it is then left behind. Only where the last step failed, which
  /// makes the version's name last, is it in its place; the same version with the same files may then be
  /// published again, and no reader was told of it.
  Result<Manifest> publish(int64_t version, int64_t step, const std::string& base, Draft draft);
  /// Writes a version that was read elsewhere, older ones too. Error: it is there, or a file differs from the
  /// manifest, or as above.
  Status import(const Manifest& manifest, std::span<const NewFile> files);
  /// Removes what publications that were killed left behind. For the one who writes.
  Status clean();

  /// Those whose manifest is there, oldest first.
  Result<std::vector<int64_t>> versions() const;
  Result<std::optional<int64_t>> newest() const;

  /// Reads a version's manifest and checks every file against it. What is missing or too short is tried again
  /// for a while, since a network file system may show a folder before its files; a wrong digest is an error
  /// after the same while.
  Result<Manifest> verify(int64_t version) const;
  std::filesystem::path folder(int64_t version) const;

  /// Removes versions older than the newest `keep`, save those in use. Returns the removed ones.
  Result<std::vector<int64_t>> prune(size_t keep, const std::function<bool(int64_t)>& in_use);

  const std::filesystem::path& root() const { return root_; }  ///< absolute
  void set_patience(ReadPatience patience) { patience_ = patience; }
  /// For tests: the clock, and what waits.
  void set_clock(const Clock& clock, std::function<void(double)> pause);
  /// For tests: what makes a folder's entries last.
  void set_sync(std::function<Status(const std::filesystem::path&)> sync) { sync_ = std::move(sync); }

 private:
  explicit Bucket(std::filesystem::path root);
  Result<Manifest> verify_once(int64_t version) const;
  Status newer_than_all(int64_t version) const;
  bool is_unsettled(const Manifest& manifest) const;
  Status place(Draft draft, const Manifest& manifest);

  std::filesystem::path root_;
  ReadPatience patience_;
  std::shared_ptr<const Clock> clock_;
  std::function<void(double)> pause_;
  std::function<Status(const std::filesystem::path&)> sync_;
  std::optional<Manifest> unsettled_;  ///< in its place, but perhaps not after a loss of power
};

/// Checks the files of a folder against a manifest. Error: names the first that is missing, of another size,
/// or of another digest.
Status check_files(const std::filesystem::path& folder, const Manifest& manifest);

}  // namespace nereus::serving
