// SPDX-License-Identifier: Apache-2.0
// XNNPACK's loops on the one pool. XNNPACK gives every loop to pthreadpool, a library that starts threads of its own;
// beside OpenMP's these would compete for the processors. So the functions of pthreadpool that XNNPACK calls are
// defined here, too: the loader binds XNNPACK to the first definition, which is the program's, and a pool of ours runs
// its loops by `parallel_for`. Pools that others have made go on to pthreadpool.
#pragma once

#include <pthreadpool.h>

/// What `pthreadpool_t` points to, where it is ours.
struct pthreadpool {
  const void* mark;  ///< tells ours from others
  int threads;
};

namespace collage::runtime::xnnpack {

/// A pool to give to XNNPACK. It holds no threads.
pthreadpool make_pool(int threads);

/// Returns whether XNNPACK's calls come here. They do not where a program that loads Collage while it runs has loaded
/// pthreadpool before; a pool of ours must not be given away then, and null is one thread.
bool gets_our_pool();

}  // namespace collage::runtime::xnnpack
