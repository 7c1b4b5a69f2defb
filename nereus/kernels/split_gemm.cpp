#include "nereus/kernels/split_gemm.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "nereus/kernels/pair_kernels.h"
#include "nereus/kernels/parallel.h"
#include "nereus/kernels/split_kernels.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace nereus::kernels {
namespace {

// A packed block of the left factor stays in a core's second-level cache (1 to 2 MiB) while panels of the
// right factor, packed once for all rows, pass by.
constexpr int64_t kMaxDepth = 768;
constexpr int64_t kLeftBytes = int64_t{1} << 20;
constexpr int64_t kRightBytes = int64_t{4} << 20;

int64_t ceil_div(int64_t x, int64_t y) {
  return (x + y - 1) / y;
}

/// `count` cut into equal runs of at most `limit`, each but the last a multiple of `unit`.
int64_t run_length(int64_t count, int64_t limit, int64_t unit) {
  const int64_t runs = ceil_div(count, std::max(limit, unit));
  return ceil_div(ceil_div(count, runs), unit) * unit;
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

/// Packed blocks of the calling thread, kept between its calls.
struct Workspace {
  std::unique_ptr<uint16_t, Free> memory;
  uint16_t* left;
  uint16_t* right;

  Workspace() {
    constexpr size_t kHugePage = size_t{2} << 20;
    constexpr size_t kBytes = (kLeftBytes + kRightBytes + kHugePage - 1) / kHugePage * kHugePage;
    memory.reset(static_cast<uint16_t*>(std::aligned_alloc(kHugePage, kBytes)));
    if (!memory) throw std::bad_alloc();
#ifdef __linux__
    madvise(memory.get(), kBytes, MADV_HUGEPAGE);
#endif
    left = memory.get();
    right = left + kLeftBytes / 2;
  }
};

template <class T>
MatrixView<T> block_of(MatrixView<T> matrix, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  return {matrix.data + row * matrix.row_stride + col * matrix.col_stride, rows, cols, matrix.row_stride,
          matrix.col_stride};
}

/// Some columns of the right factor at some depths.
struct RightBlock {
  const ColumnGroups& factor;
  int64_t depth_begin, depth, column_begin, columns;

  /// Calls f(matrix, first) for what lies in each group; `first` counts columns from the block's own.
  template <class F>
  void for_each_group(const F& f) const {
    for (int64_t j = column_begin; j < column_begin + columns;) {
      const int64_t group = j / factor.width, inside = j % factor.width;
      const int64_t count = std::min(factor.width - inside, column_begin + columns - j);
      ConstMatrix matrix = factor.all;
      matrix.data += group * factor.group_stride;
      f(block_of(matrix, depth_begin, depth, inside, count), j - column_begin);
      j += count;
    }
  }
};

/// One thread's part of a product: the rows of a and c, `columns` from the first one on, over the whole
/// depth.
class Part {
 public:
  Part(ConstMatrix a, const ColumnGroups& b, int64_t first_column, Matrix c, const SplitKernels& kernels,
       DenseProduct plain, Workspace& workspace)
      : a_(a),
        b_(b),
        first_column_(first_column),
        c_(c),
        kernels_(kernels),
        plain_(plain),
        workspace_(workspace) {}

  void multiply(float beta) {
    const int64_t depth = run_length(a_.cols, kMaxDepth, kSplitDepth);
    for (int64_t k = 0; k < a_.cols; k += depth) {
      multiply_depths(k, std::min(depth, a_.cols - k), k == 0 ? beta : 1.0F);
    }
  }

 private:
  void multiply_depths(int64_t k, int64_t depth, float beta) {
    const int64_t panel_bytes = ceil_div(depth, kSplitDepth) * kernels_.step_elements() * 2;
    const int64_t rows = run_length(c_.rows, kLeftBytes / panel_bytes * kSplitLines, kSplitLines);
    const int64_t columns = run_length(c_.cols, kRightBytes / panel_bytes * kSplitLines, kSplitLines);
    bool left_finite = true;
    for (int64_t j = 0; j < c_.cols; j += columns) {
      const RightBlock b{b_, k, depth, first_column_ + j, std::min(columns, c_.cols - j)};
      const bool finite = pack_right(b);
      for (int64_t i = 0; i < c_.rows; i += rows) {
        const ConstMatrix a = block_of(a_, i, std::min(rows, c_.rows - i), k, depth);
        if (j == 0 || rows < c_.rows) {
          left_finite =
              kernels_.pack_left({a.data, a.row_stride, a.col_stride, a.rows, depth}, workspace_.left);
        }
        const Matrix c = block_of(c_, i, a.rows, j, b.columns);
        if (!finite || !left_finite) {
          multiply_plainly(a, b, c, beta);
          continue;
        }
        kernels_.multiply({workspace_.left, workspace_.right, c.data, c.row_stride, c.rows, c.cols,
                           ceil_div(depth, kSplitDepth), beta != 0});
      }
    }
  }

  /// False where a value has no parts.
  bool pack_right(const RightBlock& b) {
    const int64_t panel_elements = ceil_div(b.depth, kSplitDepth) * kernels_.step_elements();
    bool finite = true;
    b.for_each_group([&](ConstMatrix group, int64_t first) {
      const SplitSource source{group.data, group.col_stride, group.row_stride, group.cols, group.rows};
      finite &= kernels_.pack_right(source, workspace_.right + first / kSplitLines * panel_elements);
    });
    return finite;
  }

  void multiply_plainly(ConstMatrix a, const RightBlock& b, Matrix c, float beta) {
    b.for_each_group([&](ConstMatrix group, int64_t first) {
      plain_(a, group, block_of(c, 0, c.rows, first, group.cols), beta);
    });
  }

  ConstMatrix a_;
  const ColumnGroups& b_;
  int64_t first_column_;
  Matrix c_;
  const SplitKernels& kernels_;
  DenseProduct plain_;
  Workspace& workspace_;
};

/// How many parts c is cut into, down and across.
struct Grid {
  int64_t down, across;
};

/// The cut that leaves the least work to a thread: a panel is packed in about the time of one product of two.
Grid grid_of(int64_t row_panels, int64_t column_panels, int64_t threads) {
  Grid best{1, 1};
  int64_t least = INT64_MAX;
  for (int64_t down = 1; down <= std::min(threads, row_panels); ++down) {
    const int64_t across = std::min(threads / down, column_panels);
    const int64_t rows = ceil_div(row_panels, down), columns = ceil_div(column_panels, across);
    const int64_t work = rows * columns + rows + columns;
    if (work < least) {
      least = work;
      best = {down, across};
    }
  }
  return best;
}

/// The lines of part `index` of `parts`, whole panels but for the last.
struct Range {
  int64_t first, count;
};
Range range_of(int64_t lines, int64_t index, int64_t parts) {
  const int64_t panels = ceil_div(lines, kSplitLines);
  const int64_t first = panels * index / parts * kSplitLines;
  const int64_t last = std::min(lines, panels * (index + 1) / parts * kSplitLines);
  return {first, last - first};
}

}  // namespace

bool split_gemm_pays(int64_t m, int64_t k, int64_t n) {
  // Packing a factor takes as long as about 70 lines of the other one.
  return m >= 128 && n >= 96 && k >= 64 && has_tiles();
}

void split_gemm(ConstMatrix a, const ColumnGroups& b, Matrix c, float beta, Precision precision,
                DenseProduct plain) {
#ifdef __x86_64__
  const SplitKernels& kernels = amx::split_kernels(precision);
#else
  const SplitKernels kernels;
#endif
  const Grid grid = grid_of(ceil_div(c.rows, kSplitLines), ceil_div(c.cols, kSplitLines), max_threads());
  parallel_tasks(grid.down * grid.across, c.rows * c.cols * a.cols, [&](int64_t index, int) {
    thread_local Workspace workspace;
    const Range rows = range_of(c.rows, index / grid.across, grid.down);
    const Range columns = range_of(c.cols, index % grid.across, grid.across);
    Part part(block_of(a, rows.first, rows.count, 0, a.cols), b, columns.first,
              block_of(c, rows.first, rows.count, columns.first, columns.count), kernels, plain, workspace);
    part.multiply(beta);
  });
}

}  // namespace nereus::kernels
