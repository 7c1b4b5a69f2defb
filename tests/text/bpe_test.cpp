#include "nereus/text/bpe.h"

#include <gtest/gtest.h>

#include <chrono>

namespace nereus::text {
namespace {

/// Bytes 'a' to 'd' are tokens 0 to 3; further ones are made by merges, in order.
Bpe::Options letters(const std::vector<std::array<int32_t, 3>>& merges) {
  Bpe::Options options;
  options.byte_ids.fill(-1);
  for (int32_t i = 0; i < 4; ++i) options.byte_ids[static_cast<size_t>('a' + i)] = i;
  options.merges = MergeTable(merges.size());
  for (uint32_t i = 0; i < merges.size(); ++i) {
    options.merges.insert(merges[i][0], merges[i][1], {i, merges[i][2]});
  }
  return options;
}

std::vector<int32_t> encode(const Bpe& bpe, std::string_view piece) {
  Bpe::Scratch scratch;
  std::vector<int32_t> out;
  bpe.encode(piece, scratch, out);
  return out;
}

using Ids = std::vector<int32_t>;

TEST(MergeTable, FindsWhatWasInsertedAndTheLaterOfTwo) {
  MergeTable table(1000);
  for (int32_t i = 0; i < 1000; ++i) table.insert(i, i / 7, {static_cast<uint32_t>(i), i + 1});
  table.insert(5, 0, {9999, 77});
  for (int32_t i = 0; i < 1000; ++i) ASSERT_EQ(table.find(i, i / 7)->id, i == 5 ? 77 : i + 1);
  EXPECT_EQ(table.find(3, 9), nullptr);
  EXPECT_EQ(MergeTable().find(0, 0), nullptr);
}

TEST(Bpe, MergesLowestRankThenLeftmostFirst) {
  const Bpe bpe(letters({{1, 2, 10}, {0, 1, 11}, {10, 3, 12}, {0, 0, 13}}));
  const std::pair<std::string, Ids> cases[] = {
      {"", {}},          {"a", {0}},       {"ab", {11}},       {"abc", {0, 10}},
      {"abcd", {0, 12}}, {"aaa", {13, 0}}, {"aaaa", {13, 13}}, {"bcabcd", {10, 0, 12}},
  };
  for (const auto& [piece, ids] : cases) EXPECT_EQ(encode(bpe, piece), ids) << piece;
}

TEST(Bpe, TwoMergesMayLeadToOneToken) {
  // "abc" as a+bc (rank 1) and ab+c (rank 3): the queued first one still counts after ab has formed, as in
  // HF.
  const Bpe bpe(letters({{0, 1, 10}, {0, 11, 12}, {1, 2, 11}, {10, 2, 12}}));
  EXPECT_EQ(encode(bpe, "abc"), Ids{12});
}

TEST(Bpe, BytesWithoutToken) {
  auto options = letters({{0, 1, 10}});
  EXPECT_EQ(encode(Bpe(options), "axxb"), Ids{10});  // left out
  options.unknown = 99;
  EXPECT_EQ(encode(Bpe(options), "axxb"), (Ids{0, 99, 99, 1}));
  options.fuse_unknown = true;
  EXPECT_EQ(encode(Bpe(options), "axxbx"), (Ids{0, 99, 1, 99}));
}

TEST(Bpe, WholePiecesGoBeforeMerges) {
  auto options = letters({{0, 1, 10}});
  options.whole = {{"abc", 50}};
  EXPECT_EQ(encode(Bpe(options), "abc"), Ids{50});
  EXPECT_EQ(encode(Bpe(options), "abcd"), (Ids{10, 2, 3}));
}

TEST(Bpe, LongRunsAreNotQuadratic) {
  const Bpe bpe(letters({{0, 0, 10}, {10, 10, 11}, {11, 11, 12}}));
  const auto start = std::chrono::steady_clock::now();
  const Ids ids = encode(bpe, std::string(1 << 20, 'a'));
  EXPECT_EQ(ids, Ids(1 << 17, 12));
  // A scan of the piece for every merge would take hours; the bound leaves room for sanitizers.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace nereus::text
