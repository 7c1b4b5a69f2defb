// A client of servers that speak OpenAI's API, light enough to share a machine with the server that it
// measures:
//
//   serve_load load http://127.0.0.1:8000 --at-once 32 --prompt 64 --new 64 --stream true
//   serve_load prefix http://127.0.0.1:8000 --prompt 512
//
// Prompts are random token ids. Prints one JSON line a round.
#include <fmt/core.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>
#include <vector>

#include "nereus/base/random.h"
#include "nereus/http/client.h"
#include "nereus/http/loop.h"

namespace nereus {

namespace {

struct Work {
  std::string url, model;
  int64_t at_once = 32, prompt = 64, fresh = 64, rounds = 1, seed = 1;
  bool stream = true;
};

/// What one request met; times in seconds since the round began.
struct Sample {
  double first = 0, last = 0;  // event, or the whole answer
  int64_t tokens = 0;          // as the server counts them
  std::vector<double> gaps;    // between the arrivals of events
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}

std::vector<int32_t> random_tokens(RandomStream& random, int64_t count) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(100 + random.below(40000)));
  return tokens;
}

http::Request request_for(const Work& work, const std::vector<int32_t>& prompt, int64_t fresh) {
  OrderedJson body = {{"prompt", prompt},  {"max_tokens", fresh}, {"temperature", 1.0},
                      {"seed", work.seed}, {"ignore_eos", true},  {"stream", work.stream}};
  if (work.stream) body["stream_options"] = {{"include_usage", true}};
  if (!work.model.empty()) body["model"] = work.model;
  return http::json_request("POST", "/v1/completions", body);
}

/// The number behind the last "completion_tokens" of an answer's end; 0 where there is none.
int64_t tokens_in(std::string_view end) {
  constexpr std::string_view kKey = "\"completion_tokens\":";
  const size_t at = end.rfind(kKey);
  if (at == std::string_view::npos) return 0;
  std::string_view number = end.substr(at + kKey.size());
  number.remove_prefix(std::min(number.find_first_not_of(' '), number.size()));
  int64_t tokens = 0;
  std::from_chars(number.data(), number.data() + number.size(), tokens);
  return tokens;
}

http::Task<Result<Sample>> ask(http::Client& client, http::Url url, http::Request request,
                               Clock::time_point begin) {
  // A whole answer comes only when all of it is there, however long a busy machine takes.
  auto answer = co_await client.send(url, request, {.head_seconds = 1800, .piece_seconds = 1800});
  if (!answer) co_return pass(answer);
  if ((*answer)->status() != 200) {
    const auto body = co_await (*answer)->body();
    co_return fail("status {}: {}", (*answer)->status(), body ? *body : body.error().message);
  }
  Sample sample;
  std::string end;
  while (true) {
    const auto piece = co_await (*answer)->read_some();
    if (!piece) co_return pass(piece);
    if (piece->empty()) break;
    const double now = seconds_since(begin);
    if (sample.first == 0)
      sample.first = now;
    else
      sample.gaps.push_back(now - sample.last);
    sample.last = now;
    end += *piece;
    if (end.size() > 8192) end.erase(0, end.size() - 4096);
  }
  sample.tokens = tokens_in(end);
  if (sample.tokens == 0) co_return fail("the answer does not say how many tokens it has");
  co_return sample;
}

class Bench {
 public:
  explicit Bench(const Work& work)
      : work_(work), random_(static_cast<uint64_t>(work.seed), 0), client_(loop_) {}

  Status load(const http::Url& url);
  Status prefix(const http::Url& url);

 private:
  Result<std::vector<Sample>> ask_all(const http::Url& url, const std::vector<http::Request>& requests);
  Result<double> first_token(const http::Url& url, const std::vector<int32_t>& prompt);

  const Work& work_;
  RandomStream random_;
  http::Loop loop_;
  http::Client client_;
};

Result<std::vector<Sample>> Bench::ask_all(const http::Url& url, const std::vector<http::Request>& requests) {
  const auto begin = Clock::now();
  std::vector<http::Task<Result<Sample>>> tasks;
  for (const auto& request : requests) tasks.push_back(ask(client_, url, request, begin));
  auto results = loop_.run(http::when_all(loop_, std::move(tasks)));
  std::vector<Sample> samples;
  for (auto& result : results) {
    if (!result) return pass(result);
    samples.push_back(std::move(*result));
  }
  return samples;
}

Status Bench::load(const http::Url& url) {
  for (int64_t round = 0; round < work_.rounds; ++round) {
    std::vector<http::Request> requests;
    for (int64_t i = 0; i < work_.at_once; ++i)
      requests.push_back(request_for(work_, random_tokens(random_, work_.prompt), work_.fresh));
    const double before = processor_seconds();
    const auto samples = ask_all(url, requests);
    if (!samples) return pass(samples);
    std::vector<double> first, between, gaps;
    double last = 0;
    int64_t tokens = 0;
    for (const Sample& sample : *samples) {
      tokens += sample.tokens;
      last = std::max(last, sample.last);
      first.push_back(sample.first);
      gaps.insert(gaps.end(), sample.gaps.begin(), sample.gaps.end());
      between.push_back((sample.last - sample.first) /
                        static_cast<double>(std::max<int64_t>(1, sample.tokens - 1)));
    }
    fmt::print(
        "{{\"tokens_per_s\": {:.2f}, \"tokens\": {}, \"first_token_s\": {:.4f}, \"first_token_p99_s\": "
        "{:.4f}, "
        "\"between_tokens_s\": {:.5f}, \"gap_p99_s\": {:.5f}, \"client_cpu_s\": {:.3f}}}\n",
        static_cast<double>(tokens) / last, tokens, quantile(first, 0.5), quantile(first, 0.99),
        quantile(between, 0.5), quantile(gaps, 0.99), processor_seconds() - before);
  }
  return {};
}

Result<double> Bench::first_token(const http::Url& url, const std::vector<int32_t>& prompt) {
  const auto samples = ask_all(url, {request_for(work_, prompt, 2)});
  if (!samples) return pass(samples);
  return samples->front().first;
}

/// The same beginning twice, with other ends.
Status Bench::prefix(const http::Url& url) {
  for (int64_t round = 0; round < work_.rounds; ++round) {
    const auto shared = random_tokens(random_, work_.prompt);
    double seconds[2] = {};
    for (double& taken : seconds) {
      auto prompt = shared;
      const auto own = random_tokens(random_, 16);
      prompt.insert(prompt.end(), own.begin(), own.end());
      const auto first = first_token(url, prompt);
      if (!first) return pass(first);
      taken = *first;
    }
    fmt::print("{{\"cold_s\": {:.4f}, \"warm_s\": {:.4f}}}\n", seconds[0], seconds[1]);
  }
  return {};
}

void add_options(CLI::App& app, Work& work) {
  app.add_option("url", work.url, "http://HOST:PORT")->required();
  app.add_option("--model", work.model, "Name in the requests. Default: none");
  app.add_option("--prompt", work.prompt, "Tokens of a prompt, or of what prompts share")
      ->check(CLI::PositiveNumber);
  app.add_option("--rounds", work.rounds)->check(CLI::PositiveNumber);
  app.add_option("--seed", work.seed);
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app("Measures a server that speaks OpenAI's API");
  app.require_subcommand(1);
  Work work;
  auto* load = app.add_subcommand("load", "Requests that come at once");
  add_options(*load, work);
  load->add_option("--at-once", work.at_once, "Requests")->check(CLI::PositiveNumber);
  load->add_option("--new", work.fresh, "Tokens of an answer")->check(CLI::PositiveNumber);
  load->add_option("--stream", work.stream);
  auto* prefix =
      app.add_subcommand("prefix", "Seconds to the first token, of a prompt and of one that begins alike");
  add_options(*prefix, work);
  CLI11_PARSE(app, argc, argv);
  const auto url = http::Url::parse(work.url);
  Status done = url ? Status() : Status(pass(url));
  if (done) {
    Bench bench(work);
    done = load->parsed() ? bench.load(*url) : bench.prefix(*url);
  }
  if (!done) fmt::print(stderr, "serve_load: {}\n", done.error().message);
  return done ? 0 : 1;
}

}  // namespace nereus

int main(int argc, char** argv) {
  return nereus::run(argc, argv);
}
