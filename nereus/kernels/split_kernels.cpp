// Compiled for AVX-512 with AMX, see CMakeLists.txt.
#include "nereus/kernels/split_kernels.h"

#include <immintrin.h>

#include <cstdint>

#include "nereus/kernels/split_packing.h"

namespace nereus::kernels::amx {
namespace {

/// Tiles have 16 rows of 64 bytes; those of sums and of the left factor fewer where it has no more.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {kRowBytes, kRowBytes, kRowBytes, kRowBytes,
                            kRowBytes, kRowBytes, kRowBytes, kRowBytes};
  uint8_t rows[16] = {};

  explicit TileShapes(int64_t left_rows) {
    const int64_t few = left_rows < kTile ? left_rows : kTile;
    for (int i = 0; i < 8; ++i) rows[i] = static_cast<uint8_t>(i < 6 ? few : kTile);
  }
};

/// Tiles 0 to 3 are sums, 4 and 5 the left factor's, 6 and 7 the right one's. Without `Lower` the second 16
/// rows, of tiles 2, 3 and 5, are left out.
template <bool Lower>
struct Tiles {
  static void zero() {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }

  /// Sums of a patch as rows of 32 columns.
  static void store(float* sums) {
    constexpr int64_t kSumsBytes = kSplitLines * sizeof(float);
    float* lower = sums + kTile * kSplitLines;
    _tile_stored(0, sums, kSumsBytes);
    _tile_stored(1, sums + kTile, kSumsBytes);
    if (!Lower) return;
    _tile_stored(2, lower, kSumsBytes);
    _tile_stored(3, lower + kTile, kSumsBytes);
  }

  static void load_left(const uint16_t* step, int part) {
    _tile_loadd(4, step + 2 * part * kTileElements, kRowBytes);
    if (Lower) _tile_loadd(5, step + (2 * part + 1) * kTileElements, kRowBytes);
  }
  static void load_right(const uint16_t* step, int part) {
    _tile_loadd(6, step + 2 * part * kTileElements, kRowBytes);
    _tile_loadd(7, step + (2 * part + 1) * kTileElements, kRowBytes);
  }
  static void add_products() {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if (!Lower) return;
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
};

int64_t lesser(int64_t x, int64_t y) {
  return x < y ? x : y;
}

/// Rows of a patch.
struct Rows {
  int64_t first, last;
};

/// A patch of c, up to 32 rows and columns.
struct Patch {
  float* c = nullptr;
  int64_t c_stride = 0, rows = 0, columns = 0;
  bool adds = false;

  /// Those of the rows, `share` a step, that fall on this step.
  Rows share_of(int64_t step, int64_t share) const {
    return {lesser(step * share, rows), lesser((step + 1) * share, rows)};
  }

  /// Whether whole lines of the cache are written.
  bool fills_lines() const {
    return columns == kSplitLines && c_stride % kTile == 0 && reinterpret_cast<uintptr_t>(c) % kRowBytes == 0;
  }

  /// To the second level only, as rows a multiple of 4 KiB apart would push each other out of the first.
  void fetch(Rows part) const {
    for (int64_t i = part.first; i < part.last; ++i) {
      __builtin_prefetch(c + i * c_stride, 0, 2);
      __builtin_prefetch(c + i * c_stride + columns - 1, 0, 2);
    }
  }

  /// Writes rows of sums, [32, 32], past the caches. REQUIRES: fills_lines().
  void stream(const float* sums, Rows part) const {
    for (int64_t i = part.first; i < part.last; ++i) {
      const float* from = sums + i * kSplitLines;
      _mm512_stream_ps(c + i * c_stride, _mm512_load_ps(from));
      _mm512_stream_ps(c + i * c_stride + kTile, _mm512_load_ps(from + kTile));
    }
  }

  /// Writes rows of sums, or adds them.
  void put(const float* sums, Rows part) const {
    const __mmask16 first = lanes(columns), second = lanes(columns - kTile);
    for (int64_t i = part.first; i < part.last; ++i) {
      const float* from = sums + i * kSplitLines;
      float* to = c + i * c_stride;
      Floats left = load(from, first), right = load(from + kTile, second);
      if (adds) {
        left += load(to, first);
        right += load(to + kTile, second);
      }
      _mm512_mask_storeu_ps(to, first, left);
      _mm512_mask_storeu_ps(to + kTile, second, right);
    }
  }
};

/// Packed values that are needed next, fetched a few lines at a time: a burst of fetches would occupy the
/// buffers that tile loads need, too.
class Next {
 public:
  /// All of them by so many calls.
  Next(const uint16_t* packed, int64_t elements, int64_t calls)
      : line_(reinterpret_cast<const char*>(packed)),
        share_((elements * 2 / kRowBytes + calls - 1) / calls * kRowBytes) {}

  void fetch() {
    for (const char* end = line_ + share_; line_ < end; line_ += kRowBytes) __builtin_prefetch(line_, 0, 2);
  }

 private:
  const char* line_;
  int64_t share_;
};

/// Products of parts that fp32 can tell from zero beside the greatest.
template <int Parts>
constexpr int64_t products = Parts == 3 ? 6 : 3;

/// Adds a step's products; each time only one factor's tiles are replaced. `after` is called after each.
template <int Parts, class Tiles>
[[gnu::always_inline]] inline void add_step(const uint16_t* left, const uint16_t* right, const auto& after) {
  const auto add = [&] {
    Tiles::add_products();
    after();
  };
  Tiles::load_left(left, 0);
  if constexpr (Parts == 3) {
    Tiles::load_right(right, 2);
    add();
  }
  Tiles::load_right(right, 1);
  add();
  if constexpr (Parts == 3) {
    Tiles::load_left(left, 1);
    add();
    Tiles::load_right(right, 0);
    add();
    Tiles::load_left(left, 2);
    add();
    Tiles::load_left(left, 0);
    add();
  } else {
    Tiles::load_right(right, 0);
    add();
    Tiles::load_left(left, 1);
    add();
  }
}

/// The patches of a block one after the other. While tiles multiply for one, the vector units write the sums
/// of the one before.
template <int Parts>
class Patches {
 public:
  explicit Patches(const SplitBlock& block) : block_(block) {}

  /// Products of the given steps. `after` is called after each group of them.
  template <class Tiles>
  void multiply(const uint16_t* left, const uint16_t* right, int64_t steps, const Patch& patch,
                const auto& after) {
    const int64_t share = (kSplitLines + steps - 1) / steps;  // rows of a patch for each step
    Tiles::zero();
    for (int64_t k = 0; k < steps; ++k) {
      add_step<Parts, Tiles>(left + k * step_elements<Parts>, right + k * step_elements<Parts>, after);
      write(before_.share_of(k, share));
      if (!block_.streams) patch.fetch(patch.share_of(k, share));
    }
    before_ = patch;
    buffer_ = 1 - buffer_;
    // Sums start from zero even where c does not: adding each step to a great value would cost bits.
    Tiles::store(sums_[buffer_]);
  }

  /// Writes the last patch.
  void finish() const { write({0, before_.rows}); }

 private:
  void write(Rows part) const {
    if (block_.streams && !before_.adds && before_.fills_lines()) return before_.stream(sums_[buffer_], part);
    before_.put(sums_[buffer_], part);
  }

  alignas(64) float sums_[2][kSplitLines * kSplitLines];
  int buffer_ = 0;  ///< that holds the sums of `before_`
  Patch before_;
  const SplitBlock& block_;
};

template <int Parts>
void multiply(const SplitBlock& block) {
  const TileShapes shapes(block.rows);
  asm volatile("" : : "r"(&shapes) : "memory");  // tile loads are not seen to read memory
  _tile_loadconfig(&shapes);
  const int64_t blocks = (block.rows + kSplitLines - 1) / kSplitLines;
  const int64_t panel = block.steps * step_elements<Parts>;
  Patches<Parts> patches(block);
  for (int64_t j = 0; j < block.columns; j += kSplitLines) {
    const uint16_t* right = block.right.first + j / kSplitLines * block.right.stride;
    const bool last = j + kSplitLines >= block.columns;
    Next next(right + block.right.stride, last ? 0 : panel, products<Parts> * block.steps * blocks);
    for (int64_t i = 0; i < block.rows; i += kSplitLines) {
      const uint16_t* left = block.left.first + i / kSplitLines * block.left.stride;
      for (int64_t k = 0; k < block.steps; k += block.summed_steps) {
        const Patch patch{block.c + i * block.c_stride + j, block.c_stride,
                          lesser(kSplitLines, block.rows - i), lesser(kSplitLines, block.columns - j),
                          block.accumulate || k > 0};
        const int64_t steps = lesser(block.summed_steps, block.steps - k), at = k * step_elements<Parts>;
        const auto after = [&] { next.fetch(); };
        if (patch.rows > kTile) {
          patches.template multiply<Tiles<true>>(left + at, right + at, steps, patch, after);
        } else {
          patches.template multiply<Tiles<false>>(left + at, right + at, steps, patch, after);
        }
      }
    }
  }
  patches.finish();
  _tile_release();
  if (block.streams) _mm_sfence();
}

}  // namespace

const SplitKernels& split_kernels(Precision precision) {
  static constexpr SplitKernels three{3, pack_left<3>, pack_right<3>, multiply<3>};
  static constexpr SplitKernels two{2, pack_left<2>, pack_right<2>, multiply<2>};
  return precision == Precision::highest ? three : two;
}

}  // namespace nereus::kernels::amx
