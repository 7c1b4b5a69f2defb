#include "nereus/kernels/split_gemm.h"

#include <algorithm>
#include <atomic>
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

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

/// Packed factors of the calling thread's product, kept between its calls.
struct Workspace {
  std::unique_ptr<uint16_t, Free> memory;
  uint16_t* left;
  uint16_t* right;

  Workspace() {
    constexpr size_t kHugePage = size_t{2} << 20;
    memory.reset(static_cast<uint16_t*>(std::aligned_alloc(kHugePage, 2 * kFactorBytes)));
    if (!memory) throw std::bad_alloc();
#ifdef __linux__
    madvise(memory.get(), 2 * kFactorBytes, MADV_HUGEPAGE);
#endif
    left = memory.get();
    right = left + kFactorBytes / 2;
  }
};

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

/// A product whose threads pack its factors together, then share out the blocks of the result. Both are
/// handed out in small tasks, as cores are not equally fast at all times.
class Product {
 public:
  Product(ConstMatrix a, const ColumnGroups& b, Matrix c, const SplitKernels& kernels, DenseProduct plain,
          Workspace& workspace)
      : a_(a), b_(b), c_(c), kernels_(kernels), plain_(plain), workspace_(workspace) {}

  void run(float beta) {
    const Run all{0, a_.cols};
    const int64_t depth = run_length(a_.cols, kMaxDepth, kSplitDepth);
    for (int64_t i = 0; i * depth < a_.cols; ++i) {
      depths_ = all.part(i, depth);
      steps_ = ceil_div(depths_.count, kSplitDepth);
      run_depths(i == 0 ? beta : 1.0F);
    }
  }

 private:
  int64_t panel_elements() const { return steps_ * kernels_.step_elements(); }
  /// Rows or columns whose packed values take `bytes`.
  int64_t lines_in(int64_t bytes) const { return bytes / (2 * panel_elements()) * kSplitLines; }

  void run_depths(float beta) {
    const int64_t rows = run_length(c_.rows, lines_in(kFactorBytes), kSplitLines);
    const int64_t columns = run_length(c_.cols, lines_in(kFactorBytes), kSplitLines);
    for (int64_t j = 0; j * columns < c_.cols; ++j) {
      for (int64_t i = 0; i * rows < c_.rows; ++i) {
        rows_ = Run{0, c_.rows}.part(i, rows);
        columns_ = Run{0, c_.cols}.part(j, columns);
        pack(j == 0 || rows < c_.rows, i == 0);
        multiply(beta);
      }
    }
  }

  void pack(bool left, bool right) {
    const int64_t left_tasks = left ? ceil_div(rows_.count, kPackedLines) : 0;
    const int64_t right_tasks = right ? ceil_div(columns_.count, kPackedLines) : 0;
    if (left) left_finite_ = true;
    if (right) right_finite_ = true;
    parallel_tasks(left_tasks + right_tasks, (left_tasks + right_tasks) * kPackedLines * depths_.count,
                   [&](int64_t task, int) {
                     if (task < left_tasks) {
                       pack_left(task * kPackedLines / kSplitLines, rows_.part(task, kPackedLines));
                     } else {
                       task -= left_tasks;
                       pack_right(task * kPackedLines / kSplitLines, columns_.part(task, kPackedLines));
                     }
                   });
  }

  void pack_left(int64_t panel, Run rows) {
    const ConstMatrix a = block_of(a_, rows.first, rows.count, depths_.first, depths_.count);
    if (!kernels_.pack_left({a.data, a.row_stride, a.col_stride, a.rows, a.cols},
                            workspace_.left + panel * panel_elements())) {
      left_finite_ = false;
    }
  }

  void pack_right(int64_t panel, Run columns) {
    for_each_group(b_, depths_, columns, [&](ConstMatrix group, int64_t column) {
      if (!kernels_.pack_right({group.data, group.col_stride, group.row_stride, group.cols, group.rows},
                               workspace_.right + (panel + column / kSplitLines) * panel_elements())) {
        right_finite_ = false;
      }
    });
  }

  void multiply(float beta) {
    const int64_t tasks = kTasksPerThread * max_threads();
    const int64_t most_across = ceil_div(columns_.count, kLeastColumns);
    const int64_t most_rows = std::max(kLeastRows, rows_.count / ceil_div(tasks, most_across));
    const int64_t rows = run_length(rows_.count, std::min(most_rows, lines_in(kTaskBytes)), kSplitLines);
    const int64_t down = ceil_div(rows_.count, rows);
    const int64_t most_columns = std::max(kLeastColumns, columns_.count / ceil_div(tasks, down));
    const int64_t columns = run_length(columns_.count, most_columns, kSplitLines);
    const int64_t across = ceil_div(columns_.count, columns);
    const int64_t work = rows_.count * columns_.count * depths_.count / kProductsPerElement;
    parallel_tasks(down * across, work, [&](int64_t task, int) {
      multiply_block(rows_.part(task / across, rows), columns_.part(task % across, columns), beta);
    });
  }

  void multiply_block(Run rows, Run columns, float beta) {
    const Matrix c = block_of(c_, rows.first, rows.count, columns.first, columns.count);
    if (!left_finite_ || !right_finite_) return multiply_plainly(rows, columns, c, beta);
    const int64_t row = rows.first - rows_.first, column = columns.first - columns_.first;
    kernels_.multiply({workspace_.left + row / kSplitLines * panel_elements(),
                       workspace_.right + column / kSplitLines * panel_elements(), c.data, c.row_stride,
                       c.rows, c.cols, steps_, beta != 0,
                       beta == 0 && c_.rows * c_.cols >= kStreamedElements});
  }

  /// Where a value has no parts.
  void multiply_plainly(Run rows, Run columns, Matrix c, float beta) {
    const ConstMatrix a = block_of(a_, rows.first, rows.count, depths_.first, depths_.count);
    for_each_group(b_, depths_, columns, [&](ConstMatrix group, int64_t column) {
      plain_(a, group, block_of(c, 0, c.rows, column, group.cols), beta);
    });
  }

  ConstMatrix a_;
  const ColumnGroups& b_;
  Matrix c_;
  const SplitKernels& kernels_;
  DenseProduct plain_;
  Workspace& workspace_;
  // What is packed now.
  Run depths_{}, rows_{}, columns_{};
  int64_t steps_ = 0;
  std::atomic<bool> left_finite_ = true, right_finite_ = true;
};

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
  thread_local Workspace workspace;
  Product(a, b, c, kernels, plain, workspace).run(beta);
}

}  // namespace nereus::kernels
