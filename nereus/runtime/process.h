#pragma once

namespace nereus::runtime {

/// glibc gives large blocks back at once, and the page faults of taking them again dominate elementwise work:
/// from here on this process keeps them. For programs that compute; call first in main.
void keep_freed_memory();

}  // namespace nereus::runtime
