#include "tests/integration/processes.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <sstream>
#include <thread>

namespace nereus::integration {

namespace fs = std::filesystem;

namespace {

constexpr const char* kAsync = R"([async]
enabled = true
max_staleness = 2
bucket = "bucket")";

}  // namespace

void Processes::SetUp() {
  runtime::write_tiny_model(scratch_.path() / "tiny");
  job_ =
      scratch_.write("job.toml", runtime::tiny_job("steps = 12\nthreads = 1\ncheckpoint_every = 3", kAsync))
          .string();
}

void Processes::Server::kill() {
  process->signal(SIGKILL);
  process.reset();
}

Processes::Server Processes::start(const std::string& name, const std::vector<std::string>& arguments) const {
  const fs::path folder = scratch_.path() / name;
  fs::create_directories(folder);
  fs::remove(folder / "stdout");  // of one before, which had another URL
  Server server{std::make_unique<Command>(folder.string(), arguments), ""};
  for (int i = 0; i < 3000 && server.url.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::string out = server.process->out();
    const size_t at = out.find("http://"), end = out.find_first_of(" \n", at);
    if (at != std::string::npos && end != std::string::npos) server.url = out.substr(at, end - at);
  }
  EXPECT_FALSE(server.url.empty()) << server.process->err();
  return server;
}

Processes::Server Processes::serve(const std::string& name, const std::string& port) const {
  // Most prompts take more than one step.
  return start(name, {"serve", (scratch_.path() / "tiny").string(), "--port", port, "--threads", "1",
                      "--grace", "2", "--prefill-tokens", "8"});
}

Processes::Server Processes::proxy(const std::vector<const Server*>& servers, const std::string& port) const {
  std::vector<std::string> arguments = {"proxy", "--port", port};
  for (const Server* server : servers) arguments.insert(arguments.end(), {"--backend", server->url});
  return start("proxy", arguments);
}

std::vector<std::string> Processes::train(const std::string& url, std::vector<std::string> more) const {
  more.insert(more.begin(), {"train", job_, "--run.name", "one", "--async.server", url});
  return more;
}

bool reached(const fs::path& run, size_t steps) {
  for (int i = 0; i < 6000; ++i) {
    const std::string text =
        fs::exists(run / "metrics.jsonl") ? runtime::file_text(run / "metrics.jsonl") : "";
    if (static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) >= steps) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

void expect_whole_run(const fs::path& run, int64_t steps) {
  std::set<uint64_t> prompts;
  for (int64_t step = 1; step <= steps; ++step) {
    const auto lines = runtime::lines_of(run / "completions" / fmt::format("step-{:08}.jsonl", step));
    EXPECT_EQ(lines.size(), 8U);
    for (const OrderedJson& line : lines) {
      EXPECT_LE(line["version"].get<int64_t>(), step - 1);
      EXPECT_GE(line["version"].get<int64_t>(), step - 3);
      if (line["completion"] == 0) {
        EXPECT_TRUE(prompts.insert(line["prompt_id"].get<uint64_t>()).second) << "trained twice";
      }
    }
  }
  EXPECT_EQ(runtime::lines_of(run / "metrics.jsonl").size(), static_cast<size_t>(steps));
}

}  // namespace nereus::integration
