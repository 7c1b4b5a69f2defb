#include "nereus/runtime/remote_sampler.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "nereus/base/clock.h"
#include "nereus/checkpoint/adapter.h"

namespace nereus::runtime {

namespace fs = std::filesystem;

namespace {

/// The trained tensors change with the next step.
checkpoint::Adapter copy_of(checkpoint::Adapter adapter) {
  for (auto& [path, pair] : adapter.modules) pair = {pair.first.clone(), pair.second.clone()};
  return adapter;
}

}  // namespace

RemoteSampler::RemoteSampler(RemoteSamplerOptions options, serving::Bucket bucket)
    : options_(std::move(options)),
      bucket_(std::move(bucket)),
      api_(serving::make_backend_api(serving::BackendKind::nereus)),
      generator_(std::make_unique<serving::RemoteGenerator>(loop_, options_.remote)) {}

RemoteSampler::~RemoteSampler() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_calls_.request_stop();
  changed_.notify_all();
  if (publisher_.joinable()) publisher_.join();
  generator_.reset();
  loop_.close();
}

Result<std::unique_ptr<RemoteSampler>> RemoteSampler::connect(RemoteSamplerOptions options,
                                                              serving::Bucket bucket) {
  if (auto status = bucket.clean(); !status) return pass(status);
  std::unique_ptr<RemoteSampler> sampler(new RemoteSampler(std::move(options), std::move(bucket)));
  if (auto status = sampler->check_server(); !status) return pass(status);
  sampler->publisher_ = std::thread([raw = sampler.get()] { raw->publish_loop(); });
  return sampler;
}

Result<http::Response> RemoteSampler::call(http::Request request, double seconds) {
  return loop_.run(ask(std::move(request), seconds));
}

http::Task<Result<http::Response>> RemoteSampler::ask(http::Request request, double seconds) {
  if (!options_.remote.token.empty()) request.headers.set("Authorization", "Bearer " + options_.remote.token);
  http::CallOptions call;
  call.head_seconds = call.piece_seconds = call.total_seconds = seconds;
  call.stop = stop_calls_.get_token();
  co_return co_await client_.fetch(options_.remote.url, std::move(request), call);
}

/// A server may be about to come, or to come back.
Result<http::Response> RemoteSampler::first_answer() {
  const SteadyClock clock;
  const Stopwatch watch(clock);
  for (;;) {
    http::Request request;
    request.target = "/v1/models";
    auto answer = call(std::move(request), options_.load_seconds);
    const bool there = answer && answer->status < 500;
    if (there || watch.seconds() > options_.start_seconds) return answer;
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.remote.retry_seconds));
  }
}

Status RemoteSampler::check_server() {
  const auto answer = first_answer();
  if (!answer) return pass(answer);
  auto served = serving::read_models(*answer);
  if (!served) return fail("{}: {}", options_.remote.url.text(), served.error().message);
  if (!served->fingerprint.empty() && served->fingerprint != options_.fingerprint)
    return fail("{}: serves another base model than {}", options_.remote.url.text(), options_.base_model);
  return {};
}

void RemoteSampler::hand_over(const model::Transformer& trained, int64_t version) {
  hand_over(trained.adapter().value(), version);
}

void RemoteSampler::hand_over(const checkpoint::Adapter& trained, int64_t version) {
  Handed handed{version, copy_of(trained)};
  const std::lock_guard lock(mutex_);
  handed_ = std::move(handed);
  changed_.notify_all();
}

Result<std::optional<int64_t>> RemoteSampler::adopt() {
  const std::lock_guard lock(mutex_);
  if (error_) return fail("{}", error_->message);
  if (!ready_) return std::nullopt;
  const int64_t number = *std::exchange(ready_, std::nullopt);
  generator_->set_policy(serving::version_name(number), number, number - ready_version_);
  adopted_ = true;
  changed_.notify_all();
  return ready_version_;
}

std::string RemoteSampler::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_.empty() ? generator_->trouble() : trouble_;
}

// --- the publishing thread

void RemoteSampler::publish_loop() {
  try {
    while (wait_for_work()) note(work());
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    error_ = Error{fmt::format("publishing a policy: {}", error.what())};
  }
}

/// Until there is something new, or it is time to try again. False: the end.
bool RemoteSampler::wait_for_work() {
  std::unique_lock lock(mutex_);
  const auto retry = std::chrono::duration<double>(options_.remote.retry_seconds);
  changed_.wait_for(lock, retry, [this] { return stop_ || handed_ || adopted_; });
  if (handed_) unpublished_ = std::exchange(handed_, std::nullopt);
  if (std::exchange(adopted_, false)) {
    lock.unlock();
    retire();
    lock.lock();
  }
  return !stop_ && !error_;
}

/// Brings the newest policy into the bucket and onto the servers: what is left to do of that. While they
/// cannot take it, sampling goes on with the one that is there, and they are asked again.
Status RemoteSampler::work() {
  if (!unpublished_ && !unloaded_) return load_again(), Status();
  if (unpublished_) {
    const auto number = publish(*unpublished_);
    if (!number) return pass(number);
    unpublished_.reset();
    unloaded_ = *number;
  }
  const int64_t number = *unloaded_;
  if (auto status = load(number); !status) {
    tidy(servable_.empty() ? number : servable_.front());  // its slot may be taken
    return status;
  }
  unloaded_.reset();
  servable_.push_back(number);
  const std::lock_guard lock(mutex_);
  ready_ = number;
  ready_version_ = number - *offset_;
  return {};
}

void RemoteSampler::note(const Status& done) {
  const double now = SteadyClock().now();
  const std::lock_guard lock(mutex_);
  if (done) return trouble_.clear();
  if (trouble_.empty()) failing_since_ = now;
  trouble_ = done.error().message;
  if (now - failing_since_ > options_.remote.give_up_seconds) error_ = done.error();
}

/// Writes the adapter into the bucket; its number there.
Result<int64_t> RemoteSampler::publish(const Handed& handed) {
  if (!offset_) {
    const auto newest = bucket_.newest();
    if (!newest) return pass(newest);
    offset_ = std::max<int64_t>(0, newest->value_or(-1) + 1 - handed.version);
  }
  auto draft = bucket_.draft();
  if (!draft) return pass(draft);
  if (auto status = checkpoint::write_adapter(draft->folder(), handed.adapter, options_.base_model); !status)
    return pass(status);
  const int64_t number = handed.version + *offset_;
  auto manifest = bucket_.publish(number, handed.version, options_.fingerprint, std::move(*draft));
  if (!manifest) return pass(manifest);
  return number;
}

Status RemoteSampler::load(int64_t number) {
  const std::string name = serving::version_name(number);
  const auto answer = call(api_->load(name, bucket_.folder(number).string()), options_.load_seconds);
  if (!answer) return pass(answer);
  if (!api_->is_loaded(*answer, name))
    return fail("{}: status {} for the adapter {}: {}", options_.remote.url.text(), answer->status, name,
                answer->body.substr(0, 500));
  return {};
}

/// While requests fail, a server may have been started again and lost its adapters.
void RemoteSampler::load_again() {
  if (generator_->trouble().empty()) return;
  for (const int64_t number : servable_)
    if (!load(number)) return;  // it is not there yet, which the generator says
}

/// Lets the versions go that no sample can be trained with any more.
void RemoteSampler::retire() {
  while (servable_.size() > options_.keep) servable_.erase(servable_.begin());
  const int64_t oldest = servable_.front(), newest = servable_.back();
  tidy(oldest);
  const auto in_use = [&](int64_t version) { return version >= oldest && version <= newest; };
  if (auto pruned = bucket_.prune(options_.keep, in_use); !pruned)
    spdlog::warn("old versions stay in the bucket: {}", pruned.error().message);
}

/// Whether an adapter on a server is of this bucket. Servers tell the path as they were given it, or without
/// its links.
bool RemoteSampler::is_own(const fs::path& adapter) const {
  std::error_code code;
  return adapter.parent_path() == bucket_.root() ||
         adapter.parent_path() == fs::weakly_canonical(bucket_.root(), code);
}

/// Takes this bucket's versions before `oldest` off the servers, beside what goes on.
void RemoteSampler::tidy(int64_t oldest) {
  if (!tidying_.exchange(true)) loop_.spawn(unload_older(oldest));
}

/// Asks what is there rather than remembering it: an earlier run that was killed, or an answer that was lost,
/// may have left versions, and their slots are needed.
http::Task<> RemoteSampler::unload_older(int64_t oldest) {
  http::Request list;
  list.target = "/v1/models";
  const auto answer = co_await ask(std::move(list), options_.load_seconds);
  const auto served = answer ? serving::read_models(*answer) : pass(answer);
  if (served)
    for (const auto& [name, path] : served->adapters) {
      const int64_t version = serving::version_of(name);
      if (version < 0 || version >= oldest || !is_own(path)) continue;
      if (stop_calls_.stop_requested()) break;
      // Answered when the last request that uses the adapter has ended.
      const auto unloaded = co_await ask(api_->unload(name), options_.remote.answer_seconds);
      if (unloaded && !api_->is_unloaded(*unloaded))
        spdlog::warn("{}: {} was not unloaded: status {}: {}", options_.remote.url.text(), name,
                     unloaded->status, unloaded->body.substr(0, 200));
    }
  tidying_ = false;
}

}  // namespace nereus::runtime
