#include "tests/integration/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace nereus::integration {

namespace {

void redirect(const std::string& file, int descriptor) {
  const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (opened < 0 || dup2(opened, descriptor) < 0) _exit(127);
}

}  // namespace

Command::Command(const std::string& folder, const std::vector<std::string>& arguments) : folder_(folder) {
  std::vector<std::string> all = {NEREUS_BINARY_DIR "/nereus"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (auto& argument : all) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  id_ = fork();
  if (id_ < 0) throw std::runtime_error("cannot fork");
  if (id_ > 0) return;
  redirect(folder_ + "/stdout", STDOUT_FILENO);
  redirect(folder_ + "/stderr", STDERR_FILENO);
  execv(pointers[0], pointers.data());
  _exit(127);
}

Command::~Command() {
  if (id_ <= 0) return;
  kill(id_, SIGKILL);
  waitpid(id_, nullptr, 0);
}

void Command::signal(int number) const {
  if (id_ > 0) kill(id_, number);
}

std::optional<int> Command::wait(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  int status = 0;
  while (waitpid(id_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  id_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Command::out() const {
  return text_of(folder_ + "/stdout");
}
std::string Command::err() const {
  return text_of(folder_ + "/stderr");
}

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return std::move(text).str();
}

std::string output_of(const std::string& line) {
  std::string text;
  FILE* pipe = popen((line + " 2>&1").c_str(), "r");
  char buffer[4096];
  while (const size_t size = fread(buffer, 1, sizeof(buffer), pipe)) text.append(buffer, size);
  pclose(pipe);
  return text;
}

}  // namespace nereus::integration
