#include "nereus/base/random.h"

#include <cmath>
#include <numbers>

namespace nereus {
namespace {

constexpr uint32_t low(uint64_t v) {
  return static_cast<uint32_t>(v);
}
constexpr uint32_t high(uint64_t v) {
  return static_cast<uint32_t>(v >> 32);
}

double to_unit(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    c = {high(b) ^ c[1] ^ k[0], low(b), high(a) ^ c[3] ^ k[1], low(a)};
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return c;
}

double uniform(const RandomKey& key) {
  const auto r = philox({low(key.prompt), high(key.prompt), key.completion, key.position},
                        {low(key.seed), high(key.seed)});
  return to_unit(uint64_t{r[0]} << 32 | r[1]);
}

uint64_t RandomStream::next() {
  const auto r = philox({low(index_), high(index_), low(stream_), high(stream_)}, {low(seed_), ~high(seed_)});
  ++index_;
  return uint64_t{r[0]} << 32 | r[1];
}

double RandomStream::uniform() {
  return to_unit(next());
}

uint64_t RandomStream::below(uint64_t bound) {
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t value = next();
  while (value >= limit) value = next();
  return value % bound;
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));  // 1 − u is never 0
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace nereus
