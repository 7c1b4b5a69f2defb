#include "nereus/elastic/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace nereus::elastic {
namespace {

/// Bytes by place that grow by whole sets and are taken out as a list.
class PlaceSums {
 public:
  explicit PlaceSums(int32_t places) : bytes_(static_cast<size_t>(places), 0) {}

  void add(std::span<const int32_t> places, int64_t bytes) {
    for (const int32_t place : places) {
      if (bytes_[static_cast<size_t>(place)] == 0) touched_.push_back(place);
      bytes_[static_cast<size_t>(place)] += bytes;
    }
  }
  /// Appends the sums by place, and starts anew.
  void take(std::vector<PlaceBytes>& out) {
    std::sort(touched_.begin(), touched_.end());
    for (const int32_t place : touched_) {
      out.push_back({place, bytes_[static_cast<size_t>(place)]});
      bytes_[static_cast<size_t>(place)] = 0;
    }
    touched_.clear();
  }

 private:
  std::vector<int64_t> bytes_;
  std::vector<int32_t> touched_;
};

/// Set of the places that hold exactly this box.
int32_t holders_of(std::span<const Holding> holdings, const Rect& box) {
  const auto found = std::lower_bound(holdings.begin(), holdings.end(), box,
                                      [](const Holding& a, const Rect& b) { return a.box < b; });
  return found != holdings.end() && found->box == box ? found->places : 0;
}

/// The cells of one lane, by tensor.
struct LaneCells {
  std::vector<Cell> cells;
  std::vector<int32_t> begin;
};

/// Cuts the state of one model.
class ModelCutter {
 public:
  ModelCutter(const Places& places, const ModelChange& change, int32_t model, PlaceSets& sets,
              const CutOptions& options, Cut& out)
      : change_(change),
        model_(model),
        sets_(sets),
        options_(options),
        out_(out),
        sums_(places.count()),
        checkpoint_(sets.add({places.checkpoint()})) {}

  void run() {
    for (const LaneKind lane : {LaneKind::weights, LaneKind::adapters, LaneKind::optimizer}) cut_lane(lane);
    const std::vector<int32_t> ranges = tensor_ranges();
    if (options_.recreate_weights) {
      for (size_t i = 0; i + 1 < ranges.size(); ++i) add_recreated(ranges[i], ranges[i + 1]);
    } else {
      for (const LaneKind lane : {LaneKind::weights, LaneKind::adapters, LaneKind::optimizer}) {
        for (size_t i = 0; i + 1 < ranges.size(); ++i) add_bundle(lane, ranges[i], ranges[i + 1], -1);
      }
    }
    add_gradients();
    add_invalid();
  }

 private:
  void cut_lane(LaneKind lane) {
    LaneCells& result = lanes_[static_cast<size_t>(lane)];
    const bool recreate = options_.recreate_weights && lane != LaneKind::optimizer && has_masters();
    const int64_t element = change_.after[lane].element_bytes;
    Slicer slicer(std::max<int64_t>(1, options_.bundle_bytes / std::max<int64_t>(1, element)), sets_);
    for (int32_t tensor = 0; tensor < change_.tensors.count(); ++tensor) {
      result.begin.push_back(static_cast<int32_t>(result.cells.size()));
      if (change_.after[lane].of(tensor).empty()) continue;
      SliceInput input{.from = change_.valid[lane].of(tensor), .to = change_.after[lane].of(tensor)};
      if (recreate) input.recreate = change_.after[LaneKind::optimizer].of(tensor);
      slicer.slice(tensor, input, result.cells);
    }
    result.begin.push_back(static_cast<int32_t>(result.cells.size()));
    for (Cell& cell : result.cells) {
      if (cell.sources == 0) find_elsewhere(cell, lane, element);
    }
  }

  bool has_masters() const {
    const auto& kinds = change_.after[LaneKind::optimizer].kinds;
    return std::find(kinds.begin(), kinds.end(), Kind::master) != kinds.end();
  }

  /// A cell that nobody holds comes from the checkpoint, unless all who need it make it themselves.
  void find_elsewhere(Cell& cell, LaneKind lane, int64_t element) {
    if (sets_.subtract(cell.targets, cell.recreate) == 0) return;
    cell.sources = checkpoint_;
    const std::string& name = change_.tensors.tensors[static_cast<size_t>(cell.tensor)].spec.name;
    const int64_t bytes = cell.box.elements() * element;
    std::vector<Missing>& missing = out_.missing;
    if (!missing.empty() && missing.back().tensor == name && missing.back().lane == lane &&
        missing.back().role == change_.tensors.role) {
      missing.back().bytes += bytes;
    } else {
      missing.push_back({change_.tensors.role, lane, name, bytes});
    }
  }

  std::span<const Cell> cells(LaneKind lane, int32_t first_tensor, int32_t last_tensor) const {
    const LaneCells& all = lanes_[static_cast<size_t>(lane)];
    const auto begin = all.begin[static_cast<size_t>(first_tensor)];
    const auto end = all.begin[static_cast<size_t>(last_tensor)];
    return {all.cells.data() + begin, static_cast<size_t>(end - begin)};
  }

  /// Pairs of endpoints that the cells of a tensor ask for.
  int64_t hops_of(int32_t tensor) {
    int64_t hops = 0;
    for (const LaneKind lane : {LaneKind::weights, LaneKind::adapters, LaneKind::optimizer}) {
      for (const Cell& cell : cells(lane, tensor, tensor + 1)) hops += sets_.size(wanted(cell));
    }
    return hops;
  }

  int32_t wanted(const Cell& cell) {
    return sets_.subtract(sets_.subtract(cell.targets, cell.sources), cell.recreate);
  }

  /// The most that one place has to hold of a tensor, before or after, in bytes.
  int64_t share_of(int32_t tensor) const {
    int64_t bytes = 0;
    for (const LaneKind lane : {LaneKind::weights, LaneKind::adapters, LaneKind::optimizer}) {
      int64_t elements = 0;
      for (const ModelState* state : {&change_.valid, &change_.after}) {
        for (const Holding& holding : (*state)[lane].of(tensor))
          elements = std::max(elements, holding.box.elements());
      }
      bytes = std::max(bytes, elements * change_.after[lane].element_bytes);
    }
    return bytes;
  }

  /// Begins of the ranges of neighbouring tensors, and the end of the last: as large as bundle_bytes, or
  /// larger where there would be too many hops (tensors of one range that go the same way share theirs).
  std::vector<int32_t> tensor_ranges() {
    const int32_t count = change_.tensors.count();
    std::vector<int64_t> shares, hops;
    int64_t all = 0;
    for (int32_t tensor = 0; tensor < count; ++tensor) {
      shares.push_back(share_of(tensor));
      hops.push_back(hops_of(tensor));
      all += shares.back();
    }
    for (int64_t limit = options_.bundle_bytes;; limit *= 2) {
      std::vector<int32_t> ranges = {0};
      int64_t bytes = 0, most = 0, total = 0;
      for (int32_t tensor = 0; tensor < count; ++tensor) {
        const auto i = static_cast<size_t>(tensor);
        if (bytes > 0 && bytes + shares[i] > limit) {
          ranges.push_back(tensor);
          total += most;
          bytes = most = 0;
        }
        bytes += shares[i];
        most = std::max(most, hops[i]);
      }
      ranges.push_back(count);
      if (total + most <= options_.max_hops || limit > all) return ranges;
    }
  }

  void add_recreated(int32_t first, int32_t last) {
    const auto bundles = static_cast<int32_t>(out_.bundles.size());
    const bool masters = add_bundle(LaneKind::optimizer, first, last, -1);
    add_bundle(LaneKind::weights, first, last, masters ? bundles : -1);
    add_bundle(LaneKind::adapters, first, last, masters ? bundles : -1);
  }

  /// Whether there was anything to do.
  bool add_bundle(LaneKind lane, int32_t first, int32_t last, int32_t after) {
    Bundle bundle{.model = model_, .lane = lane, .first_tensor = first, .last_tensor = last, .after = after};
    bundle.first_fill = static_cast<int32_t>(out_.fill.size());
    bundle.first_release = static_cast<int32_t>(out_.release.size());
    bundle.first_stream = static_cast<int32_t>(out_.streams.size());
    add_memory(lane, first, last);
    bundle.last_fill = static_cast<int32_t>(out_.fill.size());
    bundle.last_release = static_cast<int32_t>(out_.release.size());
    if (bundle.last_fill > bundle.first_fill) add_streams(lane, first, last);
    bundle.last_stream = static_cast<int32_t>(out_.streams.size());
    if (bundle.first_fill == bundle.last_fill && bundle.first_release == bundle.last_release) return false;
    out_.bundles.push_back(bundle);
    return true;
  }

  void add_memory(LaneKind lane, int32_t first, int32_t last) {
    const Lane &from = change_.valid[lane], &to = change_.after[lane];
    for (int32_t tensor = first; tensor < last; ++tensor) {
      for (const Holding& holding : to.of(tensor)) {
        const int32_t fresh = sets_.subtract(holding.places, holders_of(from.of(tensor), holding.box));
        sums_.add(sets_[fresh], holding.box.elements() * to.element_bytes);
      }
    }
    sums_.take(out_.fill);
    for (int32_t tensor = first; tensor < last; ++tensor) {
      for (const Holding& holding : from.of(tensor)) {
        const int32_t old = sets_.subtract(holding.places, holders_of(to.of(tensor), holding.box));
        sums_.add(sets_[old], holding.box.elements() * from.element_bytes);
      }
    }
    sums_.take(out_.release);
  }

  /// Sorts the cells of the range by who holds and who needs them, and makes a stream of each kind.
  void add_streams(LaneKind lane, int32_t first, int32_t last) {
    const auto begin = static_cast<std::ptrdiff_t>(out_.cells.size());
    const auto range = cells(lane, first, last);
    out_.cells.insert(out_.cells.end(), range.begin(), range.end());
    const auto kind = [](const Cell& cell) { return std::tuple(cell.sources, cell.targets, cell.recreate); };
    std::stable_sort(out_.cells.begin() + begin, out_.cells.end(),
                     [&](const Cell& a, const Cell& b) { return kind(a) < kind(b); });
    const int64_t element = change_.after[lane].element_bytes;
    const size_t first_stream = out_.streams.size();
    for (auto i = static_cast<size_t>(begin); i < out_.cells.size(); ++i) {
      const Cell& cell = out_.cells[i];
      const int64_t bytes = cell.box.elements() * element;
      const bool fresh = out_.streams.size() == first_stream || kind(cell) != kind(out_.cells[i - 1]) ||
                         out_.streams.back().bytes + bytes > options_.bundle_bytes;
      if (fresh) out_.streams.push_back(stream_of(cell, static_cast<int32_t>(i)));
      out_.streams.back().bytes += bytes;
      ++out_.streams.back().last_cell;
    }
  }

  Stream stream_of(const Cell& cell, int32_t index) {
    return {.sources = cell.sources,
            .wanted = wanted(cell),
            .local = sets_.intersect(cell.targets, cell.sources),
            .recreate = sets_.subtract(sets_.intersect(cell.targets, cell.recreate), cell.sources),
            .bytes = 0,
            .first_cell = index,
            .last_cell = index};
  }

  void add_gradients() {
    const Lane &from = change_.before[LaneKind::gradients], &to = change_.after[LaneKind::gradients];
    for (int32_t tensor = 0; tensor < change_.tensors.count(); ++tensor) {
      for (const Holding& holding : to.of(tensor)) {
        const int32_t fresh = sets_.subtract(holding.places, holders_of(from.of(tensor), holding.box));
        sums_.add(sets_[fresh], holding.box.elements() * to.element_bytes);
      }
    }
    sums_.take(out_.create);
    for (int32_t tensor = 0; tensor < change_.tensors.count(); ++tensor) {
      for (const Holding& holding : from.of(tensor)) {
        const int32_t old = sets_.subtract(holding.places, holders_of(to.of(tensor), holding.box));
        sums_.add(sets_[old], holding.box.elements() * from.element_bytes);
      }
    }
    sums_.take(out_.drop);
  }

  /// Memory of state that may not be read.
  void add_invalid() {
    for (const LaneKind lane : {LaneKind::weights, LaneKind::adapters, LaneKind::optimizer}) {
      const Lane &from = change_.before[lane], &valid = change_.valid[lane];
      for (size_t i = 0; i < from.holdings.size(); ++i) {
        const int32_t readable = i < valid.holdings.size() ? valid.holdings[i].places : 0;
        const int32_t invalid = sets_.subtract(from.holdings[i].places, readable);
        sums_.add(sets_[invalid], from.holdings[i].box.elements() * from.element_bytes);
      }
    }
    sums_.take(out_.drop);
  }

  const ModelChange& change_;
  int32_t model_;
  PlaceSets& sets_;
  const CutOptions& options_;
  Cut& out_;
  PlaceSums sums_;
  int32_t checkpoint_;
  std::array<LaneCells, kLanes> lanes_;
};

/// "actor: optimizer state of model.norm.weight (16384 bytes)", three at most.
std::string text_of(const std::vector<Missing>& missing) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(missing.size(), 3); ++i) {
    const Missing& m = missing[i];
    text += fmt::format("{}{}: {} of {} ({} bytes)", i > 0 ? "; " : "", name_of(m.role), name_of(m.lane),
                        m.tensor, m.bytes);
  }
  if (missing.size() > 3) text += fmt::format("; and of {} more", missing.size() - 3);
  return text;
}

}  // namespace

Result<Cut> cut(const Places& places, const std::vector<ModelChange>& changes, PlaceSets& sets,
                const CutOptions& options) {
  Cut result;
  CutOptions each = options;
  each.max_hops /= std::max<int64_t>(1, std::ssize(changes));
  for (size_t model = 0; model < changes.size(); ++model)
    ModelCutter(places, changes[model], static_cast<int32_t>(model), sets, each, result).run();
  if (options.recovery == Recovery::none && !result.missing.empty())
    return fail("no place holds {}: a checkpoint is needed", text_of(result.missing));
  return result;
}

}  // namespace nereus::elastic
