#include "nereus/tasks/command_reward.h"

#include <cmath>
#include <map>
#include <utility>

#include "nereus/base/clock.h"
#include "nereus/tasks/child_process.h"

namespace nereus::tasks {
namespace {

constexpr int kMostFailedCalls = 3;
constexpr size_t kLongestLine = size_t{1} << 20;
constexpr size_t kShownBytes = 200;

std::string shown(std::string_view line) {
  return fmt::format("\"{}\"{}", line.substr(0, kShownBytes), line.size() > kShownBytes ? "..." : "");
}

std::string request_line(uint64_t id, const RewardInput& input) {
  OrderedJson line = {{"id", id}, {"prompt", input.sample->prompt}, {"completion", input.text}};
  if (input.completion) {
    line["finish"] = input.completion->finish == rollout::Finish::stop ? "stop" : "length";
    line["num_tokens"] = input.completion->tokens.size();
  }
  line["columns"] = input.sample->columns;
  return line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

/// One call: which completions still wait for an answer.
struct Call {
  std::span<const RewardInput> inputs;
  RewardValues values;
  std::map<uint64_t, size_t> waiting;  // id of the request → index of the completion
  double deadline = 0;

  size_t answered() const { return inputs.size() - waiting.size(); }
};

class CommandReward final : public Reward {
 public:
  CommandReward(std::string name, CommandOptions options, std::filesystem::path folder)
      : name_(std::move(name)), options_(std::move(options)), folder_(std::move(folder)) {}

  const std::string& name() const override { return name_; }
  std::vector<std::string> take_warnings() override { return std::exchange(warnings_, {}); }

  Status start() {
    auto child = ChildProcess::start(options_.command, folder_, options_.error_log);
    if (!child) return fail("reward \"{}\": {}", name_, child.error().message);
    child_ = std::move(*child);
    output_.clear();
    lines_ = 0;
    return {};
  }

  Result<RewardValues> score(std::span<const RewardInput> inputs) override {
    Call call{inputs, RewardValues(inputs.size()), {}, clock_.now() + options_.timeout_s};
    for (size_t i = 0; i < inputs.size(); ++i) call.waiting.emplace(next_id_++, i);
    const Status status = run(call);
    if (status) {
      failed_calls_ = 0;
      return std::move(call.values);
    }
    if (options_.on_error == OnError::stop) return pass(status);
    failed_calls_ = call.answered() > 0 ? 0 : failed_calls_ + 1;
    if (failed_calls_ >= kMostFailedCalls)
      return fail("{} calls in a row without an answer; the last: {}", failed_calls_, status.error().message);
    warnings_.push_back(
        fmt::format("{}; {} completions have no such reward", status.error().message, call.waiting.size()));
    return std::move(call.values);
  }

 private:
  /// Starts the command again, up to the number of retries, as long as it dies.
  Status run(Call& call) {
    for (int attempt = 0;; ++attempt) {
      if (!child_)
        if (auto status = start(); !status) return status;
      auto finished = converse(call);
      if (!finished) {
        child_.reset();
        return pass(finished);
      }
      if (*finished) return {};
      const std::string what = complaint(child_->end(false), call);
      child_.reset();
      if (attempt >= options_.retries) return fail("{}", what);
      warnings_.push_back(what + "; started again");
    }
  }

  /// Sends the requests and reads the answers, both at once. False: the command ended before it had answered
  /// all.
  Result<bool> converse(Call& call) {
    std::string requests;
    for (const auto& [id, index] : call.waiting) requests += request_line(id, call.inputs[index]);
    std::string_view unsent = requests;
    while (!call.waiting.empty()) {
      const double left = call.deadline - clock_.now();
      if (left <= 0) return out_of_time(call);
      const auto state = child_->exchange(unsent, output_, left);
      if (auto status = take_lines(call); !status) return pass(status);
      if (state == ChildProcess::State::ended && !call.waiting.empty()) return false;
    }
    if (output_.find_first_not_of(" \t\r\n") == std::string::npos) return true;
    return fail("{}: all {} completions were answered, but it went on with {}", source(), call.inputs.size(),
                shown(output_));
  }

  Status take_lines(Call& call) {
    size_t start = 0;
    for (size_t end; !call.waiting.empty() && (end = output_.find('\n', start)) != std::string::npos;
         start = end + 1)
      if (auto status = take_answer(std::string_view(output_).substr(start, end - start), call); !status)
        return status;
    output_.erase(0, start);
    return call.waiting.empty() ? Status() : check_length(output_);
  }

  Status check_length(std::string_view line) const {
    if (line.size() <= kLongestLine) return {};
    return fail("{}: a line of more than {} bytes: {}", source(), kLongestLine, shown(line));
  }

  Status take_answer(std::string_view line, Call& call) {
    const std::string where = fmt::format("{}, line {}", source(), ++lines_);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
    if (auto status = check_length(line); !status) return status;
    const auto answer = parse_json(line, where);
    if (!answer)
      return fail("{}; it wrote {}; print what is no answer to standard error", answer.error().message,
                  shown(line));
    if (!answer->is_object() || !answer->contains("id") || !answer->contains("reward"))
      return fail("{}: expected {{\"id\": ..., \"reward\": ...}}, not {}", where, shown(line));
    const Json &id = (*answer)["id"], &reward = (*answer)["reward"];
    const auto place = id.is_number_unsigned() ? call.waiting.find(id.get<uint64_t>()) : call.waiting.end();
    if (place == call.waiting.end())
      return fail("{}: id {} is not one that waits for an answer", where, id.dump().substr(0, kShownBytes));
    const bool boolean = reward.is_boolean();
    if (!reward.is_null() && !boolean && !reward.is_number())
      return fail("{}: expected \"reward\" to be a number or null, not {}", where, shown(line));
    if (!reward.is_null())
      call.values[place->second] = boolean ? (reward.get<bool>() ? 1.0 : 0.0) : reward.get<double>();
    call.waiting.erase(place);
    return {};
  }

  tl::unexpected<Error> out_of_time(const Call& call) {
    child_->end(true);
    return fail("{}",
                complaint(fmt::format("did not answer within {} s and was ended", options_.timeout_s), call));
  }

  std::string source() const {
    return fmt::format("reward \"{}\": output of `{}`", name_, fmt::join(options_.command, " "));
  }

  std::string complaint(const std::string& what, const Call& call) const {
    const std::string words = child_->last_words();
    return fmt::format("reward \"{}\": `{}` {}; {} of {} completions were answered{}{}", name_,
                       fmt::join(options_.command, " "), what, call.answered(), call.inputs.size(),
                       words.empty() ? "" : "; its standard error ends with:", words);
  }

  std::string name_;
  CommandOptions options_;
  std::filesystem::path folder_;
  SteadyClock clock_;
  std::unique_ptr<ChildProcess> child_;
  std::string output_;  // read, but not yet a whole line
  uint64_t lines_ = 0;  // that this child wrote
  uint64_t next_id_ = 0;
  int failed_calls_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace

Result<std::unique_ptr<Reward>> make_command_reward(std::string name, const CommandOptions& options,
                                                    const std::filesystem::path& folder) {
  if (!(options.timeout_s > 0) || !std::isfinite(options.timeout_s))
    return fail("reward \"{}\": expected timeout_s above 0, not {}", name, options.timeout_s);
  if (options.retries < 0)
    return fail("reward \"{}\": expected retries of 0 or more, not {}", name, options.retries);
  auto reward = std::make_unique<CommandReward>(std::move(name), options, folder);
  if (auto status = reward->start(); !status) return pass(status);
  return reward;
}

}  // namespace nereus::tasks
