#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nereus::model {

/// Shape of a new LoRA adapter. A starts uniform as in PEFT (Kaiming, a = √5), B at zero.
struct LoraOptions {
  int64_t rank = 32;
  double alpha = 32;    ///< scale is alpha / rank
  bool rslora = false;  ///< scale is alpha / √rank (Kalajdzievski 2023)
  std::vector<std::string> target_modules = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                             "gate_proj", "up_proj", "down_proj"};
  double scale() const;
};

}  // namespace nereus::model
