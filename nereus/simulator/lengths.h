#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/plan/job.h"

namespace nereus::simulator {

/// The distribution of one step's responses: a lognormal cut at the limit, and the mean of the prompts.
/// Tokens.
struct LengthStep {
  double mean = 1024;   ///< of the responses, after the cut
  double clipped = 0;   ///< share of the responses that reach the limit
  double prompt = 512;  ///< mean
};

/// A lognormal whose values above `limit` count as `limit`.
struct CutLognormal {
  double mu = 0, sigma = 1;
  double limit = 4096;

  double mean() const;     ///< after the cut
  double clipped() const;  ///< share at the limit
};

/// The one with the given mean and share at the limit. Where nothing reaches the limit, `variation` (standard
/// deviation over mean) decides instead, as it does where no distribution has both.
CutLognormal fit_lengths(const LengthStep& step, double limit, double variation);

/// One real run's metrics, one line a step: `step:N - response_length/mean:V - response_length/clip_ratio:V -
/// prompt_length/mean:V - ...`. Lengths are multiplied by `scale`. Lines without lengths are left out.
Result<std::vector<LengthStep>> parse_rl_log(std::string_view text, const std::string& source, double scale);
/// "step,mean,clipped,prompt" after one line of names.
Result<std::vector<LengthStep>> parse_length_csv(std::string_view text, const std::string& source,
                                                 double scale);
/// By the first characters of the file.
Result<std::vector<LengthStep>> read_lengths(const std::filesystem::path& path, double scale);

/// Grows from `first` to `last` tokens over `steps` along a logistic curve that is half-way at `midpoint`.
struct GeneratedLengths {
  double first = 512, last = 2048;
  double midpoint = 0.5;  ///< share of the steps
  double width = 0.1;     ///< share of the steps over which it happens
  double prompt = 512;
};
std::vector<LengthStep> generate_lengths(const GeneratedLengths& options, int64_t steps);

/// The samples of one step of a run.
struct StepLengths {
  std::vector<int32_t> prompts, responses;  ///< [samples], tokens

  int64_t tokens() const;
};

/// What a run's responses are, step by step: a curve of distributions stretched over the run, and samples
/// drawn from it by (seed, step), the same for every policy. Thread-safe.
class LengthCurve {
 public:
  /// REQUIRES: curve not empty, steps > 0.
  LengthCurve(std::vector<LengthStep> curve, int64_t steps, double limit, double variation);

  const LengthStep& at(int64_t step) const;
  /// `prompts` times `completions` samples; completions of a prompt share its length, and half of the spread
  /// of their responses. No prompt is longer than the mean and half the limit, and prompt and response
  /// together never exceed the mean prompt and the limit: that is the context that a job states.
  StepLengths sample(int64_t step, int64_t prompts, int64_t completions, double prompt_variation,
                     uint64_t seed) const;
  /// The distribution itself, as the planner takes it.
  plan::Lengths lengths(int64_t step) const;

 private:
  std::vector<LengthStep> curve_;
  std::vector<CutLognormal> fits_;
  std::vector<double> normal_quantiles_;
  int64_t steps_;
  double limit_;
};

}  // namespace nereus::simulator
