#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "nereus/kernels/gemm.h"
#include "nereus/kernels/library_product.h"
#include "nereus/kernels/memory.h"
#include "nereus/kernels/pair_kernels.h"
#include "nereus/kernels/panel_kernels.h"
#include "nereus/kernels/parallel.h"
#include "nereus/kernels/rows.h"
#include "nereus/kernels/split_gemm.h"

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace nereus::kernels {
namespace {

int64_t rounded_up(int64_t x, int64_t multiple) {
  return (x + multiple - 1) / multiple * multiple;
}

/// Zeroed: columns and depths are padded.
Memory zeroed(int64_t bytes) {
  Memory memory = allocate(bytes);
  std::memset(memory.get(), 0, static_cast<size_t>(bytes));
  return memory;
}

/// The nearest bf16 value's bits, to even; a NaN stays one.
uint16_t narrowed(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (x != x) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// Where element (k, j) of a panel lies in it.
enum class Order : uint8_t {
  rows,   ///< [in, width]
  pairs,  ///< [in / 2, width, 2]: two products at a time are what bf16 instructions sum
};

struct Layout {
  Element element;
  Order order;
  int64_t width, padded_in, panels;
  int64_t panel_elements() const { return padded_in * width; }
  int64_t bytes() const { return panels * panel_elements() * (element == Element::bf16 ? 2 : 4); }
};

Layout layout_of(int64_t in, int64_t out, Element element) {
  const bool pairs = element == Element::bf16 && has_fast_bf16() && library_reads(in, out, element);
  const int64_t width = pairs ? 64 : panel_kernels(best_isa()).width;
  return {element, pairs ? Order::pairs : Order::rows, width, rounded_up(in, pairs ? 32 : 16),
          (out + width - 1) / width};
}

template <class T, class Convert>
void pack(ConstMatrix weights, const Layout& layout, T* packed, const Convert& convert) {
  parallel_ranges(layout.panels, layout.panel_elements(), [&](int64_t first, int64_t last) {
    for (int64_t j = first * layout.width; j < std::min(last * layout.width, weights.rows); ++j) {
      T* panel = packed + j / layout.width * layout.panel_elements();
      const float* from = weights.data + j * weights.row_stride;
      const int64_t column = j % layout.width;
      for (int64_t k = 0; k < weights.cols; ++k) {
        const int64_t at = layout.order == Order::rows ? k * layout.width + column
                                                       : (k / 2 * layout.width + column) * 2 + k % 2;
        panel[at] = convert(from[k * weights.col_stride]);
      }
    }
  });
}

/// x rounded to bf16, rows of `stride` elements with zeros at their ends; valid until the thread's next call.
uint16_t* rounded_input(ConstMatrix x, int64_t stride) {
  thread_local std::vector<uint16_t> buffer;
  buffer.resize(std::max(buffer.size(), static_cast<size_t>(x.rows * stride)));
  to_bf16(x, buffer.data(), stride);
  for (int64_t i = 0; i < x.rows && stride > x.cols; ++i) {
    std::fill_n(buffer.data() + i * stride + x.cols, stride - x.cols, uint16_t{0});
  }
  return buffer.data();
}
float* rounded_floats(ConstMatrix x) {
  thread_local std::vector<float> buffer;
  const auto count = static_cast<size_t>(x.rows * x.cols);
  buffer.resize(std::max(buffer.size(), count));
  const uint16_t* narrow = rounded_input(x, x.cols);
  for (size_t i = 0; i < count; ++i) buffer[i] = std::bit_cast<float>(static_cast<uint32_t>(narrow[i]) << 16);
  return buffer.data();
}

}  // namespace

struct PackedWeights::State {
  int64_t out, in;
  Layout layout;
  bool library;  ///< oneDNN reads this layout too
  Memory packed;
  std::optional<SplitWeights> split;  ///< instead of all that

  BlockedWeights blocked() const { return {packed.get(), in, out, layout.element}; }
  /// Wᵀ, of fp32 weights. REQUIRES: rows order.
  ColumnGroups groups() const {
    return {{reinterpret_cast<const float*>(packed.get()), in, out, layout.width, 1},
            layout.width,
            layout.panel_elements()};
  }
};

PackedWeights::PackedWeights(ConstMatrix weights, Element element, Precision precision)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state = {weights.rows, weights.cols, {element, Order::rows, 1, 0, 0}, false, nullptr, std::nullopt};
  if (state.out == 0 || state.in == 0) return;
  if (element == Element::f32 && precision == Precision::high && has_tiles()) {
    state.split.emplace(weights.transposed());
    return;
  }
  state.layout = layout_of(state.in, state.out, element);
  state.library =
      state.layout.order == Order::pairs ||
      (element == Element::f32 && state.layout.width == 64 && library_reads(state.in, state.out, element));
  state.packed = zeroed(state.layout.bytes());
  if (element == Element::bf16) {
    pack(weights, state.layout, reinterpret_cast<uint16_t*>(state.packed.get()), narrowed);
  } else {
    pack(weights, state.layout, reinterpret_cast<float*>(state.packed.get()), [](float x) { return x; });
  }
}

PackedWeights::~PackedWeights() = default;
PackedWeights::PackedWeights(PackedWeights&&) noexcept = default;
PackedWeights& PackedWeights::operator=(PackedWeights&&) noexcept = default;

const PanelKernels& panel_kernels(Isa isa) {
#ifdef __x86_64__
  if (isa == Isa::avx512) return avx512::panel_kernels();
  if (isa == Isa::avx2) return avx2::panel_kernels();
#endif
  return baseline::panel_kernels();
}

bool has_tiles() {
#if defined(__x86_64__) && defined(__linux__)
  // Linux hands out the tile registers' state on demand: arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA).
  static const bool granted = library_has_tiles() && syscall(SYS_arch_prctl, 0x1023, 18) == 0;
  return granted;
#else
  return false;
#endif
}

const PairKernels& pair_kernels(PairIsa isa) {
#ifdef __x86_64__
  if (isa == PairIsa::amx) return amx::pair_kernels();
  return avx512_bf16::pair_kernels();
#else
  static constexpr PairKernels none;
  (void)isa;
  return none;
#endif
}

namespace {

/// Units of a product on all threads, where they are worth waking.
template <class Kernels, class Multiply>
void run(const PanelProduct& product, const Kernels& kernels, const Multiply& multiply) {
  const int64_t units = kernels.units(product);
  const int64_t work = product.rows * product.depth * product.columns / units / kProductsPerElement;
  parallel_ranges(units, work, [&](int64_t first, int64_t last) { multiply(product, first, last); });
}

}  // namespace

void PackedWeights::multiply(ConstMatrix x, Matrix y, float beta) const {
  const State& state = *state_;
  if (y.rows == 0 || y.cols == 0) return;
  if (state.split) return state.split->multiply(x, y, beta);
  const bool accumulate = beta != 0, few = y.rows <= kStreamedRows;
  PanelProduct product{
      x.data, x.row_stride, x.rows,    state.in,  state.packed.get(), state.layout.panel_elements(),
      y.data, y.row_stride, state.out, accumulate};
  if (state.layout.order == Order::pairs) {
    product.x_stride = state.layout.padded_in;
    product.x = rounded_input(x, product.x_stride);
    if (!few) return library_multiply(state.blocked(), product.x, product.x_stride, y, accumulate);
    const PairKernels& kernels = pair_kernels(has_tiles() ? PairIsa::amx : PairIsa::avx512_bf16);
    return run(product, kernels, kernels.multiply);
  }
  if (state.layout.element == Element::f32 && !few && split_gemm_pays(x.rows, state.in, state.out)) {
    return split_gemm(x, state.groups(), y, beta, Precision::highest, library_gemm);
  }
  if (state.library && !few) return library_multiply(state.blocked(), x.data, x.row_stride, y, accumulate);
  const PanelKernels& kernels = panel_kernels(best_isa());
  if (state.layout.element == Element::f32) return run(product, kernels, kernels.multiply_f32);
  product.x = rounded_floats(x);
  product.x_stride = x.cols;
  run(product, kernels, kernels.multiply_bf16);
}

int64_t PackedWeights::out() const {
  return state_->out;
}
int64_t PackedWeights::in() const {
  return state_->in;
}
int64_t PackedWeights::bytes() const {
  return state_->split ? state_->split->bytes() : state_->layout.bytes();
}

}  // namespace nereus::kernels
