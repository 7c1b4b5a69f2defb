#pragma once

namespace nereus::test {

/// While it lives, this program's look-ups of names that end in ".slow" find nothing, after 3 s. One at a
/// time.
class SlowNames {
 public:
  SlowNames();
  ~SlowNames();
  SlowNames(const SlowNames&) = delete;
  SlowNames& operator=(const SlowNames&) = delete;
};

}  // namespace nereus::test
