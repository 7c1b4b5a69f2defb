#include "nereus/kernels/split_gemm.h"

#include <algorithm>
#include <atomic>

#include "nereus/kernels/memory.h"
#include "nereus/kernels/pair_kernels.h"
#include "nereus/kernels/parallel.h"
#include "nereus/kernels/split_kernels.h"

namespace nereus::kernels {
namespace {

constexpr int64_t kMaxDepth = 768;
// Of each packed factor as much as this at a time: it stays in the cache that the cores share.
constexpr int64_t kFactorBytes = int64_t{8} << 20;
// The left rows of one task stay in a core's second-level cache (1 to 2 MiB) while right panels pass by.
constexpr int64_t kTaskBytes = int64_t{1} << 20;
// A result of as much as this is written past the caches, where it would displace packed factors.
constexpr int64_t kStreamedElements = int64_t{1} << 20;
// Small enough that a core which is slower or lent to another program holds up the others little.
constexpr int64_t kTasksPerThread = 8;
constexpr int64_t kLeastRows = 64, kLeastColumns = 128;
constexpr int64_t kPackedLines = 128;

int64_t ceil_div(int64_t x, int64_t y) {
  return (x + y - 1) / y;
}

/// `count` cut into equal runs of at most `limit`, each but the last a multiple of `unit`.
int64_t run_length(int64_t count, int64_t limit, int64_t unit) {
  const int64_t runs = ceil_div(count, std::max(limit, unit));
  return ceil_div(ceil_div(count, runs), unit) * unit;
}

/// Packed factors of the calling thread's product, kept between its calls.
struct Workspace {
  Memory memory = allocate(2 * kFactorBytes);
  uint16_t* left = reinterpret_cast<uint16_t*>(memory.get());
  uint16_t* right = left + kFactorBytes / 2;
};
Workspace& workspace() {
  thread_local Workspace of_thread;
  return of_thread;
}

template <class T>
MatrixView<T> block_of(MatrixView<T> matrix, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  return {matrix.data + row * matrix.row_stride + col * matrix.col_stride, rows, cols, matrix.row_stride,
          matrix.col_stride};
}

/// Consecutive rows, columns or depths.
struct Run {
  int64_t first, count;

  /// The one of `index` where this is cut into runs of `length`.
  Run part(int64_t index, int64_t length) const {
    return {first + index * length, std::min(length, count - index * length)};
  }
};

/// A run of depths, of those that a product sums one after the other.
struct Depths {
  Run run;
  int64_t steps;
};

/// Calls f(depths) for each run that `depth` is cut into.
template <class F>
void for_each_run(int64_t depth, const F& f) {
  const int64_t length = run_length(depth, kMaxDepth, kSplitDepth);
  for (int64_t i = 0; i * length < depth; ++i) {
    const Run run = Run{0, depth}.part(i, length);
    f(Depths{run, ceil_div(run.count, kSplitDepth)});
  }
}

/// Calls f(matrix, column) for what lies in each group of some columns at some depths; `column` counts from
/// the first of them.
template <class F>
void for_each_group(const ColumnGroups& factor, Run depths, Run columns, const F& f) {
  for (int64_t done = 0; done < columns.count;) {
    const int64_t column = columns.first + done;
    const int64_t group = column / factor.width, inside = column % factor.width;
    const int64_t count = std::min(factor.width - inside, columns.count - done);
    ConstMatrix matrix = factor.all;
    matrix.data += group * factor.group_stride;
    f(block_of(matrix, depths.first, depths.count, inside, count), done);
    done += count;
  }
}

/// False where a value has no parts.
bool pack_right(const SplitKernels& kernels, ConstMatrix b, uint16_t* packed) {
  return kernels.pack_right({b.data, b.col_stride, b.row_stride, b.cols, b.rows}, packed);
}

/// A product whose threads pack its factors together, then share out the blocks of the result. Both are
/// handed out in small tasks, as cores are not equally fast at all times.
class Product {
 public:
  Product(ConstMatrix a, Matrix c, const SplitKernels& kernels)
      : a_(a), c_(c), kernels_(kernels), left_(workspace().left) {}

  /// Blocks with values that have no parts go to `plain`.
  void run(const ColumnGroups& b, DenseProduct plain, float beta) {
    plain_ = plain;
    b_ = &b;
    uint16_t* right = workspace().right;
    for_each_run(a_.cols, [&](Depths depths) {
      depths_ = depths;
      right_ = {right, panel_elements()};
      const int64_t rows = rows_at_once();
      const int64_t columns = run_length(c_.cols, lines_in(kFactorBytes), kSplitLines);
      for (int64_t j = 0; j * columns < c_.cols; ++j) {
        for (int64_t i = 0; i * rows < c_.rows; ++i) {
          rows_ = Run{0, c_.rows}.part(i, rows);
          columns_ = Run{0, c_.cols}.part(j, columns);
          pack(j == 0 || rows < c_.rows, i == 0 ? right : nullptr);
          multiply(depths.run.first == 0 ? beta : 1.0F);
        }
      }
    });
  }

  /// `right` has the packed panels of all columns over the whole depth.
  void run(SplitPanels right, float beta) {
    if (c_.rows <= kStreamedRows && a_.rows <= kFactorBytes / (2 * right.stride) * kSplitLines)
      return run_few(right, beta);
    right_ = right;
    columns_ = {0, c_.cols};
    for_each_run(a_.cols, [&](Depths depths) {
      depths_ = depths;
      const int64_t rows = rows_at_once();
      for (int64_t i = 0; i * rows < c_.rows; ++i) {
        rows_ = Run{0, c_.rows}.part(i, rows);
        pack(true, nullptr);
        multiply(depths.run.first == 0 ? beta : 1.0F);
      }
      right_.first += depths.steps * kernels_.step_elements();
    });
  }

 private:
  int64_t panel_elements() const { return depths_.steps * kernels_.step_elements(); }
  /// Rows or columns whose packed values take `bytes`.
  int64_t lines_in(int64_t bytes) const { return bytes / (2 * panel_elements()) * kSplitLines; }
  bool streams() const { return c_.rows * c_.cols >= kStreamedElements; }
  int64_t rows_at_once() const { return run_length(c_.rows, lines_in(kFactorBytes), kSplitLines); }

  /// Packs the rows, and into `right` where it is given the columns, that come next.
  void pack(bool left, uint16_t* right) {
    const int64_t left_tasks = left ? ceil_div(rows_.count, kPackedLines) : 0;
    const int64_t right_tasks = right != nullptr ? ceil_div(columns_.count, kPackedLines) : 0;
    if (left) left_finite_ = true;
    if (right != nullptr) right_finite_ = true;
    const int64_t lines = (left ? rows_.count : 0) + (right != nullptr ? columns_.count : 0);
    parallel_tasks(left_tasks + right_tasks, lines * depths_.run.count, [&](int64_t task, int) {
      if (task < left_tasks) {
        pack_rows(task * kPackedLines / kSplitLines, rows_.part(task, kPackedLines));
      } else {
        task -= left_tasks;
        const int64_t panel = task * kPackedLines / kSplitLines;
        pack_columns(right + panel * panel_elements(), columns_.part(task, kPackedLines));
      }
    });
  }

  void pack_rows(int64_t panel, Run rows) {
    const ConstMatrix a = block_of(a_, rows.first, rows.count, depths_.run.first, depths_.run.count);
    if (!kernels_.pack_left({a.data, a.row_stride, a.col_stride, a.rows, a.cols},
                            left_ + panel * panel_elements())) {
      left_finite_ = false;
    }
  }

  void pack_columns(uint16_t* packed, Run columns) {
    for_each_group(*b_, depths_.run, columns, [&](ConstMatrix group, int64_t column) {
      if (!pack_right(kernels_, group, packed + column / kSplitLines * panel_elements()))
        right_finite_ = false;
    });
  }

  void multiply(float beta) {
    const int64_t work = rows_.count * columns_.count * depths_.run.count / kProductsPerElement;
    const int64_t tasks = kTasksPerThread * max_threads();
    const int64_t most_across = ceil_div(columns_.count, kLeastColumns);
    const int64_t most_rows = std::max(kLeastRows, rows_.count / ceil_div(tasks, most_across));
    const int64_t rows = run_length(rows_.count, std::min(most_rows, lines_in(kTaskBytes)), kSplitLines);
    const int64_t down = ceil_div(rows_.count, rows);
    const int64_t most_columns = std::max(kLeastColumns, columns_.count / ceil_div(tasks, down));
    const int64_t columns = run_length(columns_.count, most_columns, kSplitLines);
    const int64_t across = ceil_div(columns_.count, columns);
    parallel_tasks(down * across, work, [&](int64_t task, int) {
      multiply_block(rows_.part(task / across, rows), columns_.part(task % across, columns), beta);
    });
  }

  /// Each thread packs a run of depths and then reads a run of the right factor's panels, which are what
  /// takes time; tasks would cost more than they even out.
  void run_few(SplitPanels right, float beta) {
    const int64_t panels = ceil_div(c_.cols, kSplitLines), steps = ceil_div(a_.cols, kSplitDepth);
    const int64_t summed = run_length(a_.cols, kMaxDepth, kSplitDepth) / kSplitDepth;
    parallel_team(c_.rows * c_.cols * a_.cols / kProductsPerElement, [&](const Team& team) {
      const auto [first, last] = team.share(panels);
      const uint16_t* panel = right.first + first * right.stride;
      const auto [first_step, last_step] = team.share(steps);
      for (int64_t step = first_step; step < last_step; ++step) {
        pack_few(step, right.stride);
      }
      team.wait();
      if (first == last) return;
      const int64_t column = first * kSplitLines, columns = std::min(last * kSplitLines, c_.cols) - column;
      kernels_.multiply({{left_, right.stride},
                         {panel, right.stride},
                         c_.data + column,
                         c_.row_stride,
                         c_.rows,
                         columns,
                         steps,
                         summed,
                         beta != 0,
                         beta == 0 && streams()});
    });
  }

  /// Packs one step of all rows; values without parts show in the products, as NaN.
  void pack_few(int64_t step, int64_t panel) {
    const Run depths = Run{0, a_.cols}.part(step, kSplitDepth);
    for (int64_t row = 0; row < a_.rows; row += kSplitLines) {
      const Run rows = Run{0, a_.rows}.part(row / kSplitLines, kSplitLines);
      const ConstMatrix a = block_of(a_, rows.first, rows.count, depths.first, depths.count);
      (void)kernels_.pack_left({a.data, a.row_stride, a.col_stride, a.rows, a.cols},
                               left_ + row / kSplitLines * panel + step * kernels_.step_elements());
    }
  }

  void multiply_block(Run rows, Run columns, float beta) {
    const Matrix c = block_of(c_, rows.first, rows.count, columns.first, columns.count);
    if (plain_ != nullptr && !(left_finite_ && right_finite_))
      return multiply_plainly(rows, columns, c, beta);
    const int64_t row = rows.first - rows_.first, column = columns.first - columns_.first;
    const uint16_t* left = left_ + row / kSplitLines * panel_elements();
    const uint16_t* right = right_.first + column / kSplitLines * right_.stride;
    kernels_.multiply({{left, panel_elements()},
                       {right, right_.stride},
                       c.data,
                       c.row_stride,
                       c.rows,
                       c.cols,
                       depths_.steps,
                       depths_.steps,
                       beta != 0,
                       beta == 0 && streams()});
  }

  /// Where a value has no parts.
  void multiply_plainly(Run rows, Run columns, Matrix c, float beta) {
    const ConstMatrix a = block_of(a_, rows.first, rows.count, depths_.run.first, depths_.run.count);
    for_each_group(*b_, depths_.run, columns, [&](ConstMatrix group, int64_t column) {
      plain_(a, group, block_of(c, 0, c.rows, column, group.cols), beta);
    });
  }

  ConstMatrix a_;
  Matrix c_;
  const SplitKernels& kernels_;
  const ColumnGroups* b_ = nullptr;
  DenseProduct plain_ = nullptr;
  uint16_t* left_;
  SplitPanels right_{};
  // What is packed now.
  Depths depths_{};
  Run rows_{}, columns_{};
  std::atomic<bool> left_finite_ = true, right_finite_ = true;
};

const SplitKernels& kernels_of(Precision precision) {
#ifdef __x86_64__
  return amx::split_kernels(precision);
#else
  static constexpr SplitKernels none;
  (void)precision;
  return none;
#endif
}

}  // namespace

bool split_gemm_pays(int64_t m, int64_t k, int64_t n) {
  // Packing a factor takes as long as about 70 lines of the other one.
  return m >= 128 && n >= 96 && k >= 64 && has_tiles();
}

void split_gemm(ConstMatrix a, const ColumnGroups& b, Matrix c, float beta, Precision precision,
                DenseProduct plain) {
  Product(a, c, kernels_of(precision)).run(b, plain, beta);
}

SplitWeights::SplitWeights(ConstMatrix b)
    : panel_elements_(ceil_div(b.rows, kSplitDepth) * kernels_of(Precision::high).step_elements()),
      bytes_(2 * ceil_div(b.cols, kSplitLines) * panel_elements_),
      packed_(allocate(bytes_)) {
  auto* packed = reinterpret_cast<uint16_t*>(packed_.get());
  parallel_ranges(ceil_div(b.cols, kSplitLines), kSplitLines * b.rows, [&](int64_t first, int64_t last) {
    const int64_t begin = first * kSplitLines, end = std::min(last * kSplitLines, b.cols);
    // What has no parts shows in the products, as NaN.
    (void)pack_right(kernels_of(Precision::high), block_of(b, 0, b.rows, begin, end - begin),
                     packed + first * panel_elements_);
  });
}

void SplitWeights::multiply(ConstMatrix a, Matrix c, float beta) const {
  const SplitPanels panels{reinterpret_cast<const uint16_t*>(packed_.get()), panel_elements_};
  Product(a, c, kernels_of(Precision::high)).run(panels, beta);
}

}  // namespace nereus::kernels
