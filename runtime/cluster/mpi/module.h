// SPDX-License-Identifier: Apache-2.0
// What a module for one MPI library offers: a table of C functions, since each library has an ABI of its own and a
// program is started by one of them. All functions are called by one thread, `start` first.
//
// Functions that return int return 0, or an error code of the library. A request is made by `send` and `receive` and
// ends with `test` (when it says that it is done, or fails) or `cancel`.
#pragma once

#include <stddef.h>

#define COLLAGE_MPI_MODULE_VERSION 1
#define COLLAGE_MPI_ANY_PEER (-1)

struct collage_mpi_functions {
  int version;  ///< COLLAGE_MPI_MODULE_VERSION of the module
  const char* library;

  int (*start)(int* rank, int* size);
  /// `count` fits an int.
  int (*send)(const void* bytes, size_t count, int peer, int tag, void** request);
  int (*receive)(void* bytes, size_t count, int peer, int tag, void** request);
  /// `count`: bytes that were received; `peer`: from whom.
  int (*test)(void* request, int* is_done, size_t* count, int* peer);
  void (*cancel)(void* request);
  /// Ends all processes that `mpirun` started, this one included.
  void (*abort)(int code);
  int (*finish)(void);
  /// The text of an error code, with its zero byte.
  void (*describe)(int error, char* text, size_t size);
};

/// The one function that a module shows: `const collage_mpi_functions* collage_mpi_module()`.
#define COLLAGE_MPI_ENTRY "collage_mpi_module"
