#include "nereus/metrics/names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace nereus::metrics {
namespace {

TEST(MetricNames, EachOnce) {
  std::set<std::string_view> seen;
  for (const MetricName& entry : metric_names()) EXPECT_TRUE(seen.insert(entry.name).second) << entry.name;
}

TEST(MetricNames, TheDocumentationHasTheSameTable) {
  std::ifstream file(NEREUS_SOURCE_DIR "/docs/metrics.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const MetricName& entry : metric_names()) {
    const std::string row = fmt::format("| `{}` | {} | {} |", entry.name, entry.unit, entry.meaning);
    EXPECT_NE(text.str().find(row), std::string::npos) << "docs/metrics.md lacks: " << row;
  }
}

TEST(IsMetric, Good) {
  for (const char* name : {"reward", "completions/mean_length", "rewards/number_match/mean", "rewards/x/std",
                           "clip_ratio/high_max", "memory/cpu0/kv", "sampling/logp_difference/mean"})
    EXPECT_TRUE(is_metric(name)) << name;
}

TEST(IsMetric, Bad) {
  for (const char* name : {"", "rewards", "rewards/mean", "rewards//mean", "rewards/x/median", "reward/",
                           "Reward", "memory/cpu0", "memory/cpu0/kv/more", "completions/mean"})
    EXPECT_FALSE(is_metric(name)) << name;
}

}  // namespace
}  // namespace nereus::metrics
