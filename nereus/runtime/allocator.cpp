// How jemalloc, the allocator of programs that compute, is set; it reads the variable as it starts.
//
// A training step allocates and frees tensors of other sizes than the step before. glibc either gives large
// blocks back at once, and the page faults of taking them again dominate elementwise work, or keeps them and
// lets its heap grow step after step; docs/decisions/allocator.md has the measurements.
//
//   narenas:1                    one heap: a block that one thread freed serves another
//   dirty_decay_ms:-1            freed pages stay with the process
//   lg_extent_max_active_fit:20  a free block serves a request that is any number of times smaller, so
//                                that the heap stays small without giving pages back
//   oversize_threshold:0         large blocks are treated as all others
//
// The environment's MALLOC_CONF overrides each of them.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf =
    "narenas:1,dirty_decay_ms:-1,muzzy_decay_ms:0,lg_extent_max_active_fit:20,oversize_threshold:0";
}
