#include "nereus/runtime/generate_job.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "nereus/base/clock.h"
#include "nereus/metrics/count_progress.h"
#include "nereus/ops/product.h"
#include "nereus/runtime/actor.h"
#include "nereus/runtime/prompts.h"
#include "nereus/runtime/sampling.h"
#include "nereus/tasks/jsonl_dataset.h"

namespace nereus::runtime {

namespace {

constexpr int64_t kPromptsAtOnce = 256;

/// A loaded model with all that turns text into text.
struct Writer {
  Sampler sampler;
  text::PromptEncoder encoder;
  SamplePlan plan;
};

Result<Writer> load(const GenerateCommand& command) {
  use_threads(command.threads);
  ops::set_matmul_precision(command.matmul_precision);
  auto tokenizer = text::Tokenizer::load(command.model);
  if (!tokenizer) return pass(tokenizer);
  auto encoder = text::PromptEncoder::make(std::move(*tokenizer), command.system);
  if (!encoder) return pass(encoder);
  SamplerOptions options{
      command.model, command.adapter, {}, command.bf16 ? kernels::Element::bf16 : kernels::Element::f32};
  options.engine.max_running = command.max_running;
  options.engine.kv_bytes = command.kv_memory_mb << 20;
  options.engine.kv_element = options.dtype;
  auto sampler = load_sampler(options);
  if (!sampler) return pass(sampler);
  SamplePlan plan{command.sampling, command.stop, command.completions, command.seed};
  add_stop_ids(plan.sampling, sampler->source.config(), encoder->tokenizer(), command.stop);
  return Writer{std::move(*sampler), std::move(*encoder), std::move(plan)};
}

/// Writes the text of one growing completion, without what may be the beginning of a stop string.
class TextStream {
 public:
  TextStream(const Writer& writer, std::ostream& out)
      : decoder_(writer.encoder.tokenizer(), true), stops_(writer.plan.stops), out_(out) {}

  bool push(int32_t token) {
    const auto step = stops_.push(decoder_.push(token));
    out_ << step.text << std::flush;
    return !step.stopped;
  }
  void finish() {
    const auto step = stops_.push(decoder_.finish());
    out_ << step.text << stops_.finish() << "\n" << std::flush;
  }

 private:
  text::StreamDecoder decoder_;
  text::StopStrings stops_;
  std::ostream& out_;
};

Status generate_one(Writer& writer, const GenerateCommand& command, std::ostream& out) {
  OrderedJson prompt = command.prompt;
  if (!command.raw) prompt = OrderedJson::array({{{"role", "user"}, {"content", command.prompt}}});
  auto tokens = writer.encoder.encode(prompt, "prompt");
  if (!tokens) return pass(tokens);
  const bool stream = command.completions == 1;
  TextStream text(writer, out);
  const rollout::Request request{0, std::move(*tokens), command.completions, command.seed,
                                 writer.plan.sampling};
  if (stream) {
    auto groups =
        rollout::generate_all(*writer.sampler.engine, {request},
                              [&](uint64_t, uint32_t, int32_t token, float) { return text.push(token); });
    if (!groups) return pass(groups);
    text.finish();
    return {};
  }
  auto groups = sample(*writer.sampler.engine, {Prompt{0, {}, request.prompt}}, writer.plan,
                       writer.encoder.tokenizer());
  if (!groups) return pass(groups);
  for (const auto& completion : groups->front().completions)
    out << fmt::format("--- {} ---\n{}\n", completion.index + 1,
                       completion_text(completion, writer.encoder.tokenizer(), writer.plan.stops));
  return {};
}

OrderedJson answer_line(const Prompt& prompt, const rollout::Group& group, const Writer& writer) {
  OrderedJson completions = OrderedJson::array();
  for (const auto& completion : group.completions) {
    double logprob = 0;
    for (const float value : completion.logprobs) logprob += value;
    completions.push_back(
        {{"text", completion_text(completion, writer.encoder.tokenizer(), writer.plan.stops)},
         {"finish", completion.finish == rollout::Finish::stop ? "stop" : "length"},
         {"tokens", completion.tokens.size()},
         {"logprob", logprob}});
  }
  return {{"prompt", prompt.sample.prompt}, {"completions", completions}};
}

Result<std::vector<Prompt>> read_prompts(const tasks::Dataset& data, const text::PromptEncoder& encoder,
                                         uint64_t first, uint64_t last) {
  std::vector<Prompt> prompts;
  for (uint64_t i = first; i < last; ++i) {
    auto sample = data.at(i);
    if (!sample) return pass(sample);
    auto tokens = encoder.encode(sample->prompt, sample->source);
    if (!tokens) return pass(tokens);
    prompts.push_back({i, std::move(*sample), std::move(*tokens)});
  }
  return prompts;
}

Status generate_many(Writer& writer, const GenerateCommand& command, std::ostream& out) {
  auto data = tasks::open_jsonl_dataset(command.jsonl);
  if (!data) return pass(data);
  const SteadyClock clock;
  const auto total = static_cast<int64_t>((*data)->size());
  metrics::CountProgress progress(std::cerr, clock, metrics::TerminalOptions::detect(STDERR_FILENO),
                                  "generate", total);
  for (int64_t first = 0; first < total; first += kPromptsAtOnce) {
    const int64_t last = std::min(first + kPromptsAtOnce, total);
    auto prompts =
        read_prompts(**data, writer.encoder, static_cast<uint64_t>(first), static_cast<uint64_t>(last));
    if (!prompts) return pass(prompts);
    auto groups = sample(*writer.sampler.engine, *prompts, writer.plan, writer.encoder.tokenizer());
    if (!groups) return pass(groups);
    for (size_t i = 0; i < groups->size(); ++i)
      out << answer_line((*prompts)[i], (*groups)[i], writer)
                 .dump(-1, ' ', false, OrderedJson::error_handler_t::replace)
          << "\n";
    out.flush();
    progress.update(last);
  }
  progress.end();
  if (!out) return fail("cannot write the answers");
  return {};
}

}  // namespace

Status generate(const GenerateCommand& command, std::ostream& out) {
  auto writer = load(command);
  if (!writer) return pass(writer);
  return command.jsonl.empty() ? generate_one(*writer, command, out) : generate_many(*writer, command, out);
}

}  // namespace nereus::runtime
