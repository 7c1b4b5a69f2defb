#include "nereus/simulator/lengths.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>

#include "nereus/base/random.h"

namespace nereus::simulator {

namespace {

constexpr int32_t kQuantiles = 256;  ///< that stand for a distribution

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

/// Bisection of an increasing function, until the interval cannot get smaller.
template <class Function>
double solve(double low, double high, double target, Function&& value) {
  for (int i = 0; i < 80; ++i) {
    const double middle = 0.5 * (low + high);
    double& end = value(middle) < target ? low : high;
    if (end == middle) break;
    end = middle;
  }
  return 0.5 * (low + high);
}

CutLognormal of_sigma(double mean, double limit, double sigma) {
  CutLognormal fit{0, sigma, limit};
  fit.mu = solve(-20.0, std::log(limit) + 30, std::min(mean, limit * 0.9999), [&](double mu) {
    return CutLognormal{mu, sigma, limit}.mean();
  });
  return fit;
}

/// The number after `name:` in a line of metrics.
std::optional<double> metric(std::string_view line, std::string_view name) {
  for (size_t at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) {
    const bool starts = at == 0 || line[at - 1] == ' ';
    const size_t begin = at + name.size() + 1;
    if (!starts || begin > line.size() || line[begin - 1] != ':') continue;
    double value = 0;
    const auto [end, error] = std::from_chars(line.data() + begin, line.data() + line.size(), value);
    if (error == std::errc() && std::isfinite(value)) return value;
  }
  return std::nullopt;
}

template <class Each>
Status each_line(std::string_view text, Each&& each) {
  int64_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (auto status = each(line, ++number); !status) return status;
  }
  return {};
}

}  // namespace

double CutLognormal::mean() const {
  const double z = (std::log(limit) - mu) / sigma;
  return std::exp(mu + 0.5 * sigma * sigma) * normal_cdf(z - sigma) + limit * normal_cdf(-z);
}

double CutLognormal::clipped() const {
  return normal_cdf(-(std::log(limit) - mu) / sigma);
}

CutLognormal fit_lengths(const LengthStep& step, double limit, double variation) {
  const double spread = std::sqrt(std::log1p(variation * variation));
  const CutLognormal plain = of_sigma(step.mean, limit, spread);
  if (step.clipped <= 1e-4) return plain;
  // At one mean, a wider distribution clips more as long as the mean is well below the limit.
  const auto share = [&](double sigma) { return of_sigma(step.mean, limit, sigma).clipped(); };
  const double low = 0.05, high = 4.0;
  if (step.clipped <= share(low) || step.clipped >= share(high)) return plain;
  return of_sigma(step.mean, limit, solve(low, high, step.clipped, share));
}

Result<std::vector<LengthStep>> parse_rl_log(std::string_view text, const std::string& source, double scale) {
  std::vector<LengthStep> steps;
  const auto status = each_line(text, [&](std::string_view line, int64_t number) -> Status {
    const auto mean = metric(line, "response_length/mean");
    if (!mean) return {};
    if (!(*mean > 0)) return fail("{}:{}: response_length/mean: expected more than 0", source, number);
    const double clipped = metric(line, "response_length/clip_ratio").value_or(0);
    steps.push_back({*mean * scale, std::clamp(clipped, 0.0, 1.0),
                     metric(line, "prompt_length/mean").value_or(512) * scale});
    return {};
  });
  if (!status) return pass(status);
  if (steps.empty()) return fail("{}: no line has response_length/mean:VALUE", source);
  return steps;
}

Result<std::vector<LengthStep>> parse_length_csv(std::string_view text, const std::string& source,
                                                 double scale) {
  std::vector<LengthStep> steps;
  const auto status = each_line(text, [&](std::string_view line, int64_t number) -> Status {
    if (line.empty() || line.front() == '#') return {};
    double fields[4] = {};
    const char* at = line.data();
    const char* const end = at + line.size();
    for (int i = 0; i < 4; ++i) {
      const auto [next, error] = std::from_chars(at, end, fields[i]);
      const bool last = i == 3;
      if (error != std::errc() || (last ? next != end : next == end || *next != ',')) {
        if (steps.empty() && i == 0 && std::isalpha(static_cast<unsigned char>(line.front())) != 0) return {};
        return fail("{}:{}: expected \"STEP,MEAN,CLIPPED,PROMPT\"", source, number);
      }
      at = next + (last ? 0 : 1);
    }
    if (!(fields[1] > 0) || !(fields[2] >= 0 && fields[2] <= 1) || !(fields[3] > 0))
      return fail("{}:{}: expected a mean and a prompt greater than 0 and a clipped share from 0 to 1",
                  source, number);
    steps.push_back({fields[1] * scale, fields[2], fields[3] * scale});
    return {};
  });
  if (!status) return pass(status);
  if (steps.empty()) return fail("{}: holds no lengths: expected \"STEP,MEAN,CLIPPED,PROMPT\" lines", source);
  return steps;
}

Result<std::vector<LengthStep>> read_lengths(const std::filesystem::path& path, double scale) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("{}: cannot be read: expected a run's metrics or a CSV of lengths", path.string());
  std::ostringstream stream;
  stream << file.rdbuf();
  const std::string text = stream.str();
  if (text.starts_with("step:")) return parse_rl_log(text, path.string(), scale);
  return parse_length_csv(text, path.string(), scale);
}

std::vector<LengthStep> generate_lengths(const GeneratedLengths& options, int64_t steps) {
  std::vector<LengthStep> curve;
  for (int64_t i = 0; i < steps; ++i) {
    const double at = static_cast<double>(i) / static_cast<double>(std::max<int64_t>(steps - 1, 1));
    const double grown = 1 / (1 + std::exp(-4 * (at - options.midpoint) / options.width));
    curve.push_back({options.first + (options.last - options.first) * grown, 0, options.prompt});
  }
  return curve;
}

int64_t StepLengths::tokens() const {
  return std::accumulate(prompts.begin(), prompts.end(), int64_t{0}) +
         std::accumulate(responses.begin(), responses.end(), int64_t{0});
}

LengthCurve::LengthCurve(std::vector<LengthStep> curve, int64_t steps, double limit, double variation)
    : curve_(std::move(curve)), steps_(steps), limit_(limit) {
  for (const auto& step : curve_) fits_.push_back(fit_lengths(step, limit, variation));
  for (int32_t i = 0; i < kQuantiles; ++i)
    normal_quantiles_.push_back(solve(-8.0, 8.0, (i + 0.5) / kQuantiles, normal_cdf));
}

const LengthStep& LengthCurve::at(int64_t step) const {
  const auto size = static_cast<int64_t>(curve_.size());
  return curve_[static_cast<size_t>(std::clamp<int64_t>(step * size / steps_, 0, size - 1))];
}

StepLengths LengthCurve::sample(int64_t step, int64_t prompts, int64_t completions, double prompt_variation,
                                uint64_t seed) const {
  const LengthStep& now = at(step);
  const CutLognormal& fit = fits_[static_cast<size_t>(&now - curve_.data())];
  RandomStream random(seed, 0x1e000000 + static_cast<uint64_t>(step));
  const double prompt_sigma = std::sqrt(std::log1p(prompt_variation * prompt_variation));
  const double context = now.prompt + limit_;
  StepLengths lengths;
  for (int64_t p = 0; p < prompts; ++p) {
    const double spread = prompt_sigma * random.normal() - 0.5 * prompt_sigma * prompt_sigma;
    const double prompt = std::clamp(now.prompt * std::exp(spread), 1.0, now.prompt + 0.5 * limit_);
    const double shared = random.normal();
    for (int64_t c = 0; c < completions; ++c) {
      const double own = completions == 1 ? shared : std::sqrt(0.5) * (shared + random.normal());
      const double response = std::min({std::exp(fit.mu + fit.sigma * own), limit_, context - prompt});
      lengths.prompts.push_back(static_cast<int32_t>(std::lround(prompt)));
      lengths.responses.push_back(static_cast<int32_t>(std::max(1.0, std::floor(response))));
    }
  }
  return lengths;
}

plan::Lengths LengthCurve::lengths(int64_t step) const {
  const LengthStep& now = at(step);
  const CutLognormal& fit = fits_[static_cast<size_t>(&now - curve_.data())];
  plan::Lengths lengths{std::llround(now.prompt), {}, std::llround(limit_)};
  for (const double z : normal_quantiles_) {
    const double value = std::clamp(std::exp(fit.mu + fit.sigma * z), 1.0, limit_);
    lengths.responses.push_back(static_cast<int32_t>(std::lround(value)));
  }
  return lengths;
}

}  // namespace nereus::simulator
