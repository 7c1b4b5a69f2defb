#pragma once

#include <cstdint>
#include <string>

#include "nereus/base/json.h"
#include "nereus/base/result.h"

namespace nereus::tasks {

/// One prompt of a data set, with what its rewards need.
struct Sample {
  uint64_t id = 0;      ///< index in the data set
  std::string source;   ///< where it comes from, for messages: "school.jsonl:17", "addition, train 3"
  OrderedJson prompt;   ///< a text, or an array of messages {"role", "content", ...} for the chat template
  OrderedJson columns;  ///< object: all other columns, e.g. "answer"

  bool is_chat() const { return prompt.is_array(); }
};

/// An indexed set of prompts that never changes. Thread-safe.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// Number of samples, at least 1.
  virtual uint64_t size() const = 0;
  /// REQUIRES: index < size(). Error: the file changed under us, or cannot be read any more.
  virtual Result<Sample> at(uint64_t index) const = 0;
  /// One line for people: "school.jsonl (40 prompts)".
  virtual std::string description() const = 0;
};

}  // namespace nereus::tasks
