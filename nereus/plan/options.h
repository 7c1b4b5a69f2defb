#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "nereus/plan/grid.h"
#include "nereus/plan/model_size.h"
#include "nereus/plan/time.h"
#include "nereus/plan/work.h"

namespace nereus::plan {

/// Bytes of one rank, as combinations need them: weights may be shared with another stage of the model.
struct Need {
  double weights = 0;
  double idle = 0, running = 0;  ///< all else between the turns and during its own
  double kv = 0;                 ///< of `running`: KV of one sequence, the least that generation needs

  friend bool operator==(const Need&, const Need&) = default;
};

/// One way to place a model-stage.
struct Option {
  Placement placement;  ///< without its devices: those of the grid
  const Grid* grid = nullptr;
  std::vector<Need> needs;                 ///< by pipeline index
  double most_idle = 0, most_running = 0;  ///< bytes of the fullest rank; what leaves is not there when idle
  double seconds = 0;  ///< of a step; of generation with as much KV as the device has room for alone

  bool shards_weights() const { return placement.what.stage == Stage::train && placement.zero >= 3; }
  bool shares_weights(const Option& other) const {
    return grid == other.grid && !shards_weights() && !other.shards_weights();
  }
};

/// The placement of an option, with its devices.
Placement placement_of(const Option& option);

/// Everything that the search considers for one model-stage on a grid: micro-batches in powers of two
/// or of all sequences, and for training recomputation and ZeRO 0 to 3; each staying and leaving when idle.
/// Devices are left out.
std::vector<Placement> placements_on(const Job& job, ModelStage what, const Grid& grid);

/// Makes the options of one job. What grids have in common (the average sequence, factors of a regime, sizes
/// of ranks) is found once for all that it is asked for. Not thread-safe.
class OptionMaker {
 public:
  /// Both outlive this.
  OptionMaker(const Job& job, const Calibration& calibration);

  /// Those that fit when they are alone, without the ones that another on the same grid beats in time and
  /// memory. `largest`: bytes that the roomiest device may fill, its context left out.
  std::vector<Option> options_on(ModelStage what, const Grid& grid, double largest);
  /// Placements priced so far.
  int64_t priced() const { return priced_; }

 private:
  /// Of a model in one pipeline and tensor size.
  struct Regime {
    RegimeFactors factors;
    std::vector<RankSize> sizes;  ///< by pipeline index
  };
  const Regime& regime(const Placement& placement);

  const Job& job_;
  const Calibration& calibration_;
  Work sequence_;                                                 ///< the average one
  std::map<std::tuple<Role, int32_t, int32_t>, Regime> regimes_;  ///< by role, pp and tp
  int64_t priced_ = 0;
};

/// Replicas beyond which some would have no sequence.
int64_t most_replicas(const Job& job, ModelStage what);

}  // namespace nereus::plan
