#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/command.h"
#include "tests/runtime/tiny_job.h"

namespace nereus::integration {

/// Servers, proxy and trainer as processes of their own, over a tiny model.
class Processes : public ::testing::Test {
 protected:
  void SetUp() override;

  /// A process that serves, and its URL once it is ready.
  struct Server {
    std::unique_ptr<Command> process;
    std::string url;
    std::string port() const { return url.substr(url.rfind(':') + 1); }
    void kill();
  };
  /// `name` is that of the folder for its output.
  Server start(const std::string& name, const std::vector<std::string>& arguments) const;
  Server serve(const std::string& name, const std::string& port = "0") const;
  Server proxy(const std::vector<const Server*>& servers, const std::string& port = "0") const;
  /// Arguments of `nereus train` for 12 steps of 2 prompts × 4 completions, at most 2 steps stale.
  std::vector<std::string> train(const std::string& url, std::vector<std::string> more = {}) const;
  std::filesystem::path run() const { return scratch_.path() / "runs" / "one"; }
  std::filesystem::path bucket() const { return scratch_.path() / "bucket"; }

  runtime::ScratchFolder scratch_;
  std::string job_;
};

/// Waits until the run has so many steps; false after a minute.
bool reached(const std::filesystem::path& run, size_t steps);

/// All steps are there, no prompt was trained twice, and no sample was older than allowed.
void expect_whole_run(const std::filesystem::path& run, int64_t steps);

}  // namespace nereus::integration
