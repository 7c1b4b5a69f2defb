#include "nereus/kernels/gemm.h"

#include <compare>
#include <cstddef>
#include <dnnl.hpp>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "nereus/kernels/isa.h"
#include "nereus/kernels/library_product.h"
#include "nereus/kernels/split_gemm.h"

namespace nereus::kernels {
namespace {

using dnnl::matmul;
using dnnl::memory;
using Dims = memory::dims;

constexpr auto kFloat = memory::data_type::f32;
constexpr auto kBf16 = memory::data_type::bf16;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// Everything that a matrix product's code depends on. Strides as (row, column).
struct ProductKey {
  int64_t m, k, n;
  int64_t a_row, a_col, b_row, b_col, c_row;
  bool accumulate;
  bool blocked;  ///< b as in BlockedWeights instead of by strides
  Element element;
  auto operator<=>(const ProductKey&) const = default;
};

struct Product {
  memory::desc a, b, c;
  matmul primitive;
  size_t scratchpad = 0;
};

memory::desc strided(int64_t rows, int64_t cols, memory::data_type type, int64_t row, int64_t col) {
  return {Dims{rows, cols}, type, Dims{row, col}};
}

/// Null when this processor has no code for the product.
std::optional<matmul::primitive_desc> describe(const memory::desc& a, const memory::desc& b,
                                               const memory::desc& c, bool accumulate) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
#if DNNL_VERSION_MAJOR >= 3
  matmul::primitive_desc found(cpu(), a, b, c, attributes, /*allow_empty=*/true);
#else
  matmul::primitive_desc found(matmul::desc(a, b, c), attributes, cpu(), /*allow_empty=*/true);
#endif
  if (!found) return std::nullopt;
  return found;
}

memory::data_type stored(Element element) {
  return element == Element::bf16 ? kBf16 : kFloat;
}

memory::desc blocked(int64_t in, int64_t out, Element element) {
  const auto tag = element == Element::bf16 ? memory::format_tag::BA16a64b2a : memory::format_tag::BA16a64b;
  return {Dims{in, out}, stored(element), tag};
}

Product make_product(const ProductKey& key) {
  const auto type = stored(key.element);
  Product product;
  product.a = strided(key.m, key.k, type, key.a_row, key.a_col);
  product.b =
      key.blocked ? blocked(key.k, key.n, key.element) : strided(key.k, key.n, type, key.b_row, key.b_col);
  product.c = strided(key.m, key.n, kFloat, key.c_row, 1);
  const auto found = describe(product.a, product.b, product.c, key.accumulate).value();
  product.primitive = matmul(found);
  product.scratchpad = found.scratchpad_desc().get_size();
  return product;
}

/// The most recently used products; making one takes oneDNN up to a millisecond. Thread-safe.
class ProductCache {
 public:
  std::shared_ptr<const Product> get(const ProductKey& key) {
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return found->second->second;
    }
    order_.emplace_front(key, std::make_shared<const Product>(make_product(key)));
    index_[key] = order_.begin();
    if (order_.size() > kCapacity) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    return order_.front().second;
  }

 private:
  static constexpr size_t kCapacity = 1024;
  using Entry = std::pair<ProductKey, std::shared_ptr<const Product>>;
  std::mutex mutex_;
  std::list<Entry> order_;
  std::map<ProductKey, std::list<Entry>::iterator> index_;
};

std::shared_ptr<const Product> cached(const ProductKey& key) {
  static ProductCache cache;
  return cache.get(key);
}

/// Working memory of the calling thread, kept between calls.
void* working_memory(std::vector<std::byte>& buffer, size_t bytes) {
  constexpr size_t kAlignment = 64;
  if (buffer.size() < bytes + kAlignment) buffer = std::vector<std::byte>(bytes + kAlignment);
  void* start = buffer.data();
  size_t space = buffer.size();
  return std::align(kAlignment, bytes, start, space);
}

void* scratchpad(size_t bytes) {
  thread_local std::vector<std::byte> buffer;
  return working_memory(buffer, bytes);
}

// oneDNN takes no pointers to const, though it leaves inputs alone.
void* writable(const void* data) {
  return const_cast<void*>(data);
}

void run(const Product& product, const void* a, const void* b, float* c) {
  const auto& engine = cpu();
  dnnl::stream stream(engine);
  const memory::desc scratch(Dims{static_cast<int64_t>(product.scratchpad)}, memory::data_type::u8,
                             memory::format_tag::a);
  product.primitive.execute(stream,
                            {{DNNL_ARG_SRC, memory(product.a, engine, writable(a))},
                             {DNNL_ARG_WEIGHTS, memory(product.b, engine, writable(b))},
                             {DNNL_ARG_DST, memory(product.c, engine, c)},
                             {DNNL_ARG_SCRATCHPAD, memory(scratch, engine, scratchpad(product.scratchpad))}});
  stream.wait();
}

/// A single row or column may come with any stride in the direction that has no second element.
template <class T>
MatrixView<T> normalized(MatrixView<T> view) {
  if (view.rows == 1 && view.col_stride == 1) view.row_stride = view.cols;
  if (view.cols == 1 && view.row_stride == 1) view.col_stride = view.rows;
  return view;
}

void scale_all(Matrix c, float beta) {
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.cols; ++j) c.data[i * c.row_stride + j] *= beta;
  }
}

}  // namespace

void library_gemm(ConstMatrix a, ConstMatrix b, Matrix c, float beta) {
  a = normalized(a);
  b = normalized(b);
  c = normalized(c);
  const ProductKey key{.m = c.rows,
                       .k = a.cols,
                       .n = c.cols,
                       .a_row = a.row_stride,
                       .a_col = a.col_stride,
                       .b_row = b.row_stride,
                       .b_col = b.col_stride,
                       .c_row = c.row_stride,
                       .accumulate = beta != 0,
                       .blocked = false,
                       .element = Element::f32};
  run(*cached(key), a.data, b.data, c.data);
}

namespace {

bool uses(dnnl::cpu_isa wanted) {
  const auto bits = static_cast<unsigned>(wanted);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

}  // namespace

Isa product_isa() {
  if (uses(dnnl::cpu_isa::avx512_core)) return Isa::avx512;
  return uses(dnnl::cpu_isa::avx2) ? Isa::avx2 : Isa::baseline;
}

bool has_fast_bf16() {
  return uses(dnnl::cpu_isa::avx512_core_bf16);
}

bool library_has_tiles() {
  return uses(dnnl::cpu_isa::avx512_core_amx);
}

void gemm(ConstMatrix a, ConstMatrix b, Matrix c, float beta, Precision precision) {
  if (c.rows == 0 || c.cols == 0) return;
  if (a.cols == 0) return scale_all(c, beta);
  if (split_gemm_pays(c.rows, a.cols, c.cols)) return split_gemm(a, b, c, beta, precision, library_gemm);
  library_gemm(a, b, c, beta);
}

bool library_reads(int64_t in, int64_t out, Element element) {
  constexpr int64_t kRows = 256;
  const auto found = describe(strided(kRows, in, stored(element), in, 1), blocked(in, out, element),
                              strided(kRows, out, kFloat, out, 1), false);
  return found && std::string_view(found->impl_info_str()).starts_with("brg");
}

void library_multiply(const BlockedWeights& weights, const void* x, int64_t x_stride, Matrix y,
                      bool accumulate) {
  y = normalized(y);
  const ProductKey key{.m = y.rows,
                       .k = weights.in,
                       .n = weights.out,
                       .a_row = y.rows == 1 ? weights.in : x_stride,
                       .a_col = 1,
                       .b_row = 0,
                       .b_col = 0,
                       .c_row = y.row_stride,
                       .accumulate = accumulate,
                       .blocked = true,
                       .element = weights.element};
  run(*cached(key), x, weights.data, y.data);
}

}  // namespace nereus::kernels
