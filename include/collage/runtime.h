/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs compiled models, plain C: libcollage_runtime. Executables come from the compiler in the same process (compiler.h) or
 * from a file, which needs no compiler.
 *
 *     collage_executable  a compiled model: never changes after it was made
 *     collage_session     memory and devices' queues for runs of an executable; all sessions share its constants
 *     collage_tensor      a tensor read from a file
 *
 * Errors: a function that can fail returns 0 for success, or a handle, and otherwise writes a text into `error` (of
 * `error_size` bytes, always terminated; NULL with 0: no text is wanted). Handles that are NULL are accepted everywhere:
 * what is given one fails, and freeing it does nothing, so that a program can check the last step alone.
 *
 * Threads: functions on one executable may be called from several threads at once, functions on one session from one
 * thread at a time. Sessions are independent of each other, also those of one executable.
 *
 * Ownership: every handle is freed by its own function, in any order; what it needs of others it keeps alive. Texts and
 * arrays that a function returns belong to the handle and live as long as it.
 */
#ifndef COLLAGE_RUNTIME_H
#define COLLAGE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "dtype.h"
#include "export.h"
#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct collage_executable collage_executable;
typedef struct collage_session collage_session;
typedef struct collage_tensor collage_tensor;

/* What the library is, not what the program was compiled with: COLLAGE_VERSION and COLLAGE_ABI_VERSION. */
COLLAGE_API const char* collage_runtime_version(void);
COLLAGE_API uint32_t collage_runtime_abi_version(void);

/* An input or output of an executable, or a tensor. Elements are dense and row-major. */
typedef struct collage_port {
  const char* name; /* "" for a tensor */
  int32_t dtype;    /* enum collage_dtype */
  int32_t rank;
  const int64_t* shape; /* of `rank` */
  size_t bytes;
} collage_port;

COLLAGE_API size_t collage_executable_input_count(const collage_executable* executable);
COLLAGE_API size_t collage_executable_output_count(const collage_executable* executable);
/* NULL where there is no such input or output. */
COLLAGE_API const collage_port* collage_executable_input(const collage_executable* executable, size_t index);
COLLAGE_API const collage_port* collage_executable_output(const collage_executable* executable, size_t index);
/* The predicted time of one run in seconds. */
COLLAGE_API double collage_executable_predicted_seconds(const collage_executable* executable);
/* Writes a package, as `collagec -o NAME.collage` does: a file of any name, which `collage-run` and the function below read.
 * It is for processors that have what this one has. An earlier file of the name is replaced when the new one is whole. */
COLLAGE_API int collage_executable_save(const collage_executable* executable, const char* path, char* error,
                                        size_t error_size);
/* Reads a package. NULL after an error: a file of another kind, a damaged one, one of another format version, or one for
 * another processor. The file stays mapped as long as the executable and its sessions live: replace it by renaming, do not
 * write into it. */
COLLAGE_API collage_executable* collage_executable_load(const char* path, char* error, size_t error_size);
COLLAGE_API void collage_executable_free(collage_executable* executable);

/* Loads an executable. `threads`: of the host, at most 1024; 0: as many as it was compiled for. NULL after an error. */
COLLAGE_API collage_session* collage_session_create(const collage_executable* executable, int32_t threads, char* error,
                                                    size_t error_size);
/* One run. Buffers are the caller's, in the order of the executable's inputs and outputs, each of the bytes that its port
 * says; an output must not overlap another buffer. They need no alignment; those aligned to 64 bytes are used in place
 * where the plan permits it, the others are copied. After a failure the outputs hold anything. */
COLLAGE_API int collage_session_run(collage_session* session, const void* const* inputs, void* const* outputs,
                                    char* error, size_t error_size);
/* Simulated time that devices and links have spent on the runs of the session, in seconds. */
COLLAGE_API double collage_session_device_seconds(const collage_session* session);
COLLAGE_API void collage_session_free(collage_session* session);

/* Reads an .npy file. NULL after an error. */
COLLAGE_API collage_tensor* collage_tensor_read(const char* path, char* error, size_t error_size);
COLLAGE_API const collage_port* collage_tensor_port(const collage_tensor* tensor);
COLLAGE_API const void* collage_tensor_data(const collage_tensor* tensor);
COLLAGE_API void collage_tensor_free(collage_tensor* tensor);

#ifdef __cplusplus
}
#endif

#endif
