#include "nereus/simulator/elastic_data.h"

#include "nereus/control/membership.h"
#include "nereus/plan/memory.h"
#include "nereus/plan/scale.h"
#include "nereus/plan/search.h"

namespace nereus::simulator {

Answer ElasticData::begin(const View& view) {
  return devices_changed(view);
}

Answer ElasticData::after_step(const View& view, const control::Observation& observation) {
  job_.lengths = observation.lengths;
  if (control::same_devices(view.cluster, before_)) return {};
  return follow(view);
}

Answer ElasticData::devices_changed(const View& view) {
  if (first_) return follow(view);
  plan::SearchOptions options;
  options.deadline = 60;  // not cut short by a busy machine
  const auto found = plan::search(view.cluster, job_, {}, options);
  if (found.best.empty()) return {Answer::Action::wait, {}, 0, 0, "no plan fits"};
  first_ = found.best.front().plan;
  first_devices_ = view.cluster.devices();
  running_ = first_;
  before_ = view.cluster;
  return {Answer::Action::change, *first_, found.best.front().time.total, 0, "the first plan"};
}

Answer ElasticData::follow(const View& view) {
  before_ = view.cluster;
  const auto scaled = plan::scale_data(*first_, first_devices_, view.cluster.devices());
  running_ = scaled && tuned_ ? plan::best_variant(view.cluster, job_, {}, *scaled) : scaled;
  if (running_ && !plan::fits(view.cluster, job_, *running_)) running_.reset();
  if (!running_) return {Answer::Action::wait, {}, 0, 0, "the plan does not fit"};
  return {Answer::Action::change, *running_, 0, 0, "the data axis follows the devices"};
}

Answer ElasticData::out_of_memory(const View& view, const OutOfMemory& what) {
  before_ = view.cluster;
  const auto less = running_ ? with_less_memory(*running_, what.stage) : std::nullopt;
  if (!less) return {};
  running_ = less;
  first_ = less;
  first_devices_ = view.cluster.devices();
  return {Answer::Action::change, *less, 0, 0, what.what()};
}

}  // namespace nereus::simulator
