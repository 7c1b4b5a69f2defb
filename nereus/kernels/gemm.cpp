#include "nereus/kernels/gemm.h"

#include <bit>
#include <compare>
#include <cstddef>
#include <dnnl.hpp>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "nereus/kernels/isa.h"
#include "nereus/kernels/parallel.h"
#include "nereus/kernels/rows.h"

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
  bool packed;  ///< b in the packed layout of (k, n, element) instead of by strides
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

/// The layout that oneDNN prefers for weights [in, out]. It is asked at a number of rows typical of decoding
/// and training; the few layouts among which it would choose for other numbers are equally fast there.
memory::desc packed_layout(int64_t in, int64_t out, Element element) {
  constexpr int64_t kRows = 64;
  const auto type = stored(element);
  const memory::desc any(Dims{in, out}, type, memory::format_tag::any);
  const auto found =
      describe(strided(kRows, in, type, in, 1), any, strided(kRows, out, kFloat, out, 1), false);
  if (!found) return strided(in, out, type, 1, in);
  return found->weights_desc();
}

Product make_product(const ProductKey& key) {
  const auto type = stored(key.element);
  Product product;
  product.a = strided(key.m, key.k, type, key.a_row, key.a_col);
  product.b = key.packed ? packed_layout(key.k, key.n, key.element)
                         : strided(key.k, key.n, type, key.b_row, key.b_col);
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

Isa product_isa() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto has = [isa](dnnl::cpu_isa wanted) {
    return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
  };
  if (has(dnnl::cpu_isa::avx512_core)) return Isa::avx512;
  return has(dnnl::cpu_isa::avx2) ? Isa::avx2 : Isa::baseline;
}

bool has_fast_bf16() {
  const auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

void gemm(ConstMatrix a, ConstMatrix b, Matrix c, float beta) {
  if (c.rows == 0 || c.cols == 0) return;
  if (a.cols == 0) return scale_all(c, beta);
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
                       .packed = false,
                       .element = Element::f32};
  run(*cached(key), a.data, b.data, c.data);
}

struct PackedWeights::State {
  int64_t out, in;
  Element element;     ///< in which the packed weights are stored
  bool rounds_floats;  ///< bf16 values in fp32 storage, where the processor has no bf16 products
  memory packed;
};

namespace {

/// The nearest bf16 value, as a float.
float rounded(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (x != x) return x;
  return std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000U);
}

/// x rounded to bf16 values, row-major, in `element`; valid until the thread's next call.
const void* rounded_input(ConstMatrix x, Element element) {
  thread_local std::vector<std::byte> buffer;
  const size_t size = element == Element::bf16 ? sizeof(uint16_t) : sizeof(float);
  void* copy = working_memory(buffer, static_cast<size_t>(x.rows * x.cols) * size);
  if (element == Element::bf16) {
    to_bf16(x, static_cast<uint16_t*>(copy), x.cols);
    return copy;
  }
  auto* values = static_cast<float*>(copy);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.cols; ++j) values[i * x.cols + j] = rounded(x.data[i * x.row_stride + j]);
  }
  return copy;
}

memory reordered(const void* weights, const memory::desc& from, const memory::desc& to) {
  const auto& engine = cpu();
  memory source(from, engine, writable(weights));
  memory packed(to, engine);
  dnnl::stream stream(engine);
  dnnl::reorder(source, packed).execute(stream, source, packed);
  stream.wait();
  return packed;
}

}  // namespace

PackedWeights::PackedWeights(ConstMatrix weights, Element element) {
  const int64_t out = weights.rows, in = weights.cols;
  const bool narrow = element == Element::bf16;
  const Element kept = narrow && has_fast_bf16() ? Element::bf16 : Element::f32;
  state_ = std::make_unique<State>(State{out, in, kept, narrow && kept == Element::f32, {}});
  if (out == 0 || in == 0) return;
  const auto view = normalized(weights).transposed();
  state_->packed = reordered(view.data, strided(in, out, kFloat, view.row_stride, view.col_stride),
                             packed_layout(in, out, kept));
  if (!state_->rounds_floats) return;
  auto* values = static_cast<float*>(state_->packed.get_data_handle());
  const auto count = state_->packed.get_desc().get_size() / sizeof(float);
  for (size_t i = 0; i < count; ++i) values[i] = rounded(values[i]);
}

PackedWeights::~PackedWeights() = default;
PackedWeights::PackedWeights(PackedWeights&&) noexcept = default;
PackedWeights& PackedWeights::operator=(PackedWeights&&) noexcept = default;

void PackedWeights::multiply(ConstMatrix x, Matrix y, float beta) const {
  const State& state = *state_;
  if (y.rows == 0 || y.cols == 0) return;
  if (state.in == 0) return scale_all(y, beta);
  x = normalized(x);
  y = normalized(y);
  const bool copies = state.element == Element::bf16 || state.rounds_floats;
  const void* input = copies ? rounded_input(x, state.element) : x.data;
  const ProductKey key{.m = y.rows,
                       .k = state.in,
                       .n = state.out,
                       .a_row = copies ? x.cols : x.row_stride,
                       .a_col = 1,
                       .b_row = 0,
                       .b_col = 0,
                       .c_row = y.row_stride,
                       .accumulate = beta != 0,
                       .packed = true,
                       .element = state.element};
  run(*cached(key), input, state.packed.get_data_handle(), y.data);
}

int64_t PackedWeights::out() const {
  return state_->out;
}
int64_t PackedWeights::in() const {
  return state_->in;
}
int64_t PackedWeights::bytes() const {
  return state_->packed ? static_cast<int64_t>(state_->packed.get_desc().get_size()) : 0;
}

}  // namespace nereus::kernels
