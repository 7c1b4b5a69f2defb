#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <thread>

#include "tests/integration/processes.h"

namespace nereus::integration {
namespace {

namespace fs = std::filesystem;

/// scripts/soak sets it.
int64_t soak_seconds() {
  const char* seconds = std::getenv("NEREUS_SOAK_SECONDS");
  return seconds == nullptr ? 25 : std::atoll(seconds);
}

/// A small disk of its own, mounted where the caller may mount, else only a folder.
class SmallDisk {
 public:
  explicit SmallDisk(fs::path folder) : folder_(std::move(folder)) {
    fs::create_directories(folder_);
    mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=2m") == 0;
    if (!mounted_) std::cout << "no full disk: cannot mount one: " << std::strerror(errno) << '\n';
  }
  ~SmallDisk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  void fill() const {
    if (!mounted_) return;
    std::ofstream file(ballast(), std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), std::ssize(block)).flush()) {
    }
    std::error_code code;
    EXPECT_EQ(fs::space(folder_, code).available, 0U);
  }
  void empty() const {
    std::error_code ignored;
    fs::remove(ballast(), ignored);
  }

 private:
  fs::path ballast() const { return folder_ / "ballast"; }
  fs::path folder_;
  bool mounted_ = false;
};

/// Two servers, a proxy and a trainer, to which something happens each turn.
class Soak : public Processes {
 protected:
  void begin(int64_t steps) {
    disk_ = std::make_unique<SmallDisk>(bucket());
    a_ = serve("a");
    b_ = serve("b");
    proxy_ = proxy({&a_, &b_});
    arguments_ = train(proxy_.url, {"--run.steps", std::to_string(steps), "--run.checkpoint_every", "10"});
    trainer_ = std::make_unique<Command>(scratch_.path().string(), arguments_);
  }

  void fault(int turn) {
    switch (turn % 9) {
      case 0:
        return kill_server(a_, "a");
      case 1:
        return stop(*b_.process);
      case 2:
        return kill_server(b_, "b");
      case 3:
        return kill_proxy();
      case 4:
        return kill_trainer();
      case 5:
        return full_disk();
      case 6:
        return stop(*proxy_.process);
      case 7:
        return stop(*trainer_);
      default:
        return full_disk_and_killed_trainer();
    }
  }

  static void turn() { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); }
  void kill_server(Server& server, const std::string& name) const {
    const std::string port = server.port();
    server.kill();
    server = serve(name, port);
  }
  void kill_proxy() {
    const std::string port = proxy_.port();
    proxy_.kill();
    proxy_ = proxy({&a_, &b_}, port);
  }
  void kill_trainer() {
    trainer_->signal(SIGKILL);
    trainer_->wait();
    auto resumed = arguments_;
    resumed.emplace_back("--resume");
    trainer_ = std::make_unique<Command>(scratch_.path().string(), resumed);
  }
  static void stop(const Command& process) {
    process.signal(SIGSTOP);
    turn();
    process.signal(SIGCONT);
  }
  void full_disk() const {
    disk_->fill();
    turn();
    disk_->empty();
  }
  void full_disk_and_killed_trainer() {
    disk_->fill();
    kill_trainer();
    turn();
    disk_->empty();
  }

  std::unique_ptr<SmallDisk> disk_;
  Server a_, b_, proxy_;
  std::vector<std::string> arguments_;
  std::unique_ptr<Command> trainer_;
};

TEST_F(Soak, FaultsLoseNoGroupAndTrainNoneTwice) {
  // Faults 3 and 48: the first steps work, then a time-out [trl 3157]; weights stream to a dead peer [NeMo-RL
  // 3944].
  const int64_t seconds = soak_seconds(), steps = 10 * seconds;
  begin(steps);
  ASSERT_TRUE(reached(run(), 3)) << trainer_->err();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (int number = 0; std::chrono::steady_clock::now() < end; ++number) {
    turn();
    fault(number);
  }
  EXPECT_EQ(trainer_->wait(static_cast<double>(240 + seconds)), 0) << trainer_->err();
  expect_whole_run(run(), steps);
}

}  // namespace
}  // namespace nereus::integration
