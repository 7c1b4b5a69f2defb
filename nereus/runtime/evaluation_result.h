#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nereus/base/json.h"

namespace nereus::runtime {

/// A share with its 95 % confidence interval.
struct Share {
  double value = 0, low = 0, high = 0;
};
/// Wilson's score interval (Wilson 1927) of `hits` among `count`; without observations 0 in [0, 1].
Share wilson(int64_t hits, int64_t count);

/// What an evaluation found.
struct Evaluation {
  int64_t samples = 0;                                  ///< answers with a first reward
  int64_t absent = 0;                                   ///< answers without one
  Share accuracy;                                       ///< answers whose first reward is at least 1
  std::vector<std::pair<std::string, double>> rewards;  ///< mean of each
  double reward = 0;                                    ///< mean of the weighted sum
  double mean_length = 0;                               ///< tokens of an answer
  double clipped_ratio = 0;                             ///< answers cut by the length limit
  int64_t skipped = 0;                                  ///< over-long prompts
  double seconds = 0;
  std::vector<std::string> warnings;
};
OrderedJson to_json(const Evaluation& evaluation);
/// "accuracy 0.256 (95 % interval 0.220 to 0.295), 500 answers, ..."
std::string describe(const Evaluation& evaluation);

}  // namespace nereus::runtime
