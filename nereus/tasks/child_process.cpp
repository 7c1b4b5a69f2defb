#include "nereus/tasks/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

namespace nereus::tasks {
namespace {

constexpr double kMoment = 0.2;          // seconds between looks at whether the command still runs
constexpr int kGraceMilliseconds = 500;  // for a command that closed its output to end itself
constexpr size_t kErrorBytes = 8192;
constexpr size_t kErrorLines = 20;

std::string reason(int error) {
  return std::generic_category().message(error);
}

void close_file(int& file) {
  if (file >= 0) ::close(file);
  file = -1;
}

bool executable(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

Result<std::filesystem::path> find_program(const std::string& program, const std::filesystem::path& folder) {
  if (program.find('/') != std::string::npos) {
    std::filesystem::path path = folder / program;
    if (executable(path)) return path;
    return fail("command \"{}\": {} is no executable file", program, path.string());
  }
  const char* search = std::getenv("PATH");
  std::string_view rest = search ? search : "/usr/bin:/bin";
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    std::filesystem::path path = std::filesystem::path(rest.substr(0, end)) / program;
    if (executable(path)) return path;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (std::filesystem::path path = folder / program; executable(path)) return path;
  return fail("command \"{}\": not found in PATH, nor as an executable file in {}", program, folder.string());
}

/// A pipe whose ends no other child inherits; `ours` does not block.
struct Pipe {
  int ours = -1, theirs = -1;
  ~Pipe() {
    close_file(ours);
    close_file(theirs);
  }
  bool open(bool we_write) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    ours = ends[we_write ? 1 : 0];
    theirs = ends[we_write ? 0 : 1];
    return ::fcntl(ours, F_SETFL, O_NONBLOCK) == 0;
  }
};

/// The environment, with Python's output unbuffered: a plain print() of an answer then arrives at once.
std::vector<std::string> child_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry; ++entry) entries.emplace_back(*entry);
  if (!std::getenv("PYTHONUNBUFFERED")) entries.emplace_back("PYTHONUNBUFFERED=1");
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Starts the program with the pipes as its standard streams, no signal blocked or ignored; 0 or the error's
/// number.
int spawn(pid_t& pid, const std::filesystem::path& program, std::vector<std::string> command,
          const std::filesystem::path& folder, const std::array<int, 3>& streams) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  for (int stream = 0; stream < 3; ++stream)
    posix_spawn_file_actions_adddup2(&actions, streams.at(static_cast<size_t>(stream)), stream);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> environment = child_environment();
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, pointers(command).data(),
                                  pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// write(2) that answers EPIPE without the signal that would end this process.
ssize_t write_quietly(int file, std::string_view text) {
  sigset_t pipe_signal, before, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t written = ::write(file, text.data(), text.size());
  const int error = errno;
  const timespec now{};
  if (written < 0 && error == EPIPE && !sigismember(&pending, SIGPIPE))
    sigtimedwait(&pipe_signal, nullptr, &now);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

/// Appends all that can be read at once, and closes the file at its end.
void drain(int& file, std::string& into) {
  std::array<char, 65536> buffer{};
  while (file >= 0) {
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0)
      close_file(file);
    else
      into.append(buffer.data(), static_cast<size_t>(got));
  }
}

std::string describe(int status) {
  if (WIFEXITED(status)) return fmt::format("exited with status {}", WEXITSTATUS(status));
  return fmt::format("was killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const std::vector<std::string>& command,
                                                          const std::filesystem::path& folder,
                                                          const std::filesystem::path& error_log) {
  if (command.empty()) return fail("expected a command: a program and its arguments");
  std::error_code ignored;
  const std::filesystem::path place = std::filesystem::absolute(folder.empty() ? "." : folder, ignored);
  const auto program = find_program(command.front(), place);
  if (!program) return pass(program);
  std::ofstream log;
  if (!error_log.empty()) {
    log.open(error_log, std::ios::app | std::ios::binary);
    if (!log) return fail("{}: cannot be opened for writing: {}", error_log.string(), reason(errno));
  }
  Pipe input, output, errors;
  if (!input.open(true) || !output.open(false) || !errors.open(false))
    return fail("command \"{}\": no pipe could be made: {}", command.front(), reason(errno));
  pid_t pid = -1;
  if (const int error = spawn(pid, std::filesystem::absolute(*program, ignored), command, place,
                              {input.theirs, output.theirs, errors.theirs}))
    return fail("command \"{}\": {} could not be started in {}: {}", command.front(), program->string(),
                place.string(), reason(error));
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, std::exchange(input.ours, -1),
                                                        std::exchange(output.ours, -1),
                                                        std::exchange(errors.ours, -1), std::move(log)));
}

ChildProcess::ChildProcess(pid_t pid, int input, int output, int errors, std::ofstream error_log)
    : pid_(pid), input_(input), output_(output), errors_(errors), error_log_(std::move(error_log)) {}

ChildProcess::~ChildProcess() {
  end(true);
}

ChildProcess::State ChildProcess::exchange(std::string_view& input, std::string& output, double timeout_s) {
  // Looked at before reading, so that nothing written before the end is missed; a grandchild may hold the
  // pipe.
  const bool exited = has_exited();
  const double wait = exited ? 0.0 : std::clamp(timeout_s, 0.0, kMoment);
  std::array<pollfd, 3> files = {pollfd{output_, POLLIN, 0}, pollfd{errors_, POLLIN, 0},
                                 pollfd{input.empty() ? -1 : input_, POLLOUT, 0}};
  if (::poll(files.data(), files.size(), static_cast<int>(std::ceil(wait * 1000))) > 0) {
    if (files[0].revents) drain(output_, output);
    if (files[1].revents) read_errors();
    if (files[2].revents) feed(input);
  }
  return exited || output_ < 0 ? State::ended : State::alive;
}

void ChildProcess::feed(std::string_view& input) {
  while (!input.empty()) {
    const ssize_t written = write_quietly(input_, input);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno != EAGAIN && errno != EWOULDBLOCK) close_file(input_);  // it no longer reads
    if (written < 0) return;
    input.remove_prefix(static_cast<size_t>(written));
  }
}

void ChildProcess::read_errors() {
  std::string text;
  drain(errors_, text);
  if (error_log_.is_open()) error_log_ << text << std::flush;
  error_text_ += text;
  if (error_text_.size() > 2 * kErrorBytes) error_text_.erase(0, error_text_.size() - kErrorBytes);
}

bool ChildProcess::has_exited() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

std::string ChildProcess::end(bool at_once) {
  if (!ending_.empty()) return ending_;
  close_file(input_);
  for (int waited = 0; !at_once && !has_exited() && waited < kGraceMilliseconds; waited += 5)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const bool by_itself = has_exited();
  ::kill(-pid_, SIGKILL);  // the leader is not reaped yet, so that the group's number is still its own
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ending_ = by_itself ? describe(status) : "was ended";
  read_errors();
  close_file(output_);
  close_file(errors_);
  return ending_;
}

std::string ChildProcess::last_words() const {
  std::string_view text = error_text_;
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (text.empty()) return "";
  std::vector<std::string_view> lines;
  while (lines.size() < kErrorLines) {
    const size_t start = text.rfind('\n');
    lines.push_back(start == std::string_view::npos ? text : text.substr(start + 1));
    if (start == std::string_view::npos) break;
    text = text.substr(0, start);
  }
  std::string words;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) words += fmt::format("\n    {}", *line);
  return words;
}

}  // namespace nereus::tasks
