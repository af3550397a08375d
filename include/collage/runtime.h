/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs compiled models, plain C: libcollage_runtime. Executables come from the compiler in the same process
 * (compiler.h) or from a file, which needs no compiler.
 *
 *     collage_executable  a compiled model: never changes after it was made
 *     collage_session     memory and devices' queues for runs of an executable; all sessions share its constants
 *     collage_shaped_session   the same for an executable of several shapes, which takes that of the inputs
 *     collage_requests    several runs of an executable at once: a bounded queue, and sessions that serve it
 *     collage_request     one of them
 *     collage_tensor      a tensor read from a file
 *
 * Errors: a function that can fail returns 0 for success, or a handle, and otherwise writes a text into `error` (of
 * `error_size` bytes, always terminated; NULL with 0: no text is wanted). Handles that are NULL are accepted
 * everywhere: what is given one fails, and freeing it does nothing, so that a program can check the last step alone.
 *
 * Threads: functions on one executable may be called from several threads at once, so may those on one
 * collage_requests; functions on one session of either kind or one request from one thread at a time. Sessions are
 * independent of each other, also those of one executable.
 *
 * Devices: a command that fails is given again a few times. Where a device is lost, its part of the model runs on an
 * equal device or on the host from then on, and the run is finished there.
 *
 * Hosts: an executable that was compiled for the hosts of a cluster runs all of their parts in this process, a thread
 * for each beside its own, with what hosts send each other passed on in memory. Each session has all parts loaded for
 * itself and shares constants of hosts alone. A failure of any part is that of the run, with the host named:
 * `host[1]: …`; the next run has the parts loaded anew, and kept values start from their buffers again. Parts on
 * several machines are for `mpirun collage-run`.
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
typedef struct collage_shaped_session collage_shaped_session;
typedef struct collage_requests collage_requests;
typedef struct collage_request collage_request;
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

/* A tensor of the caller, dense and row-major, or of a session. */
typedef struct collage_array {
  int32_t dtype; /* enum collage_dtype */
  int32_t rank;
  const int64_t* shape; /* of `rank` */
  const void* data;
} collage_array;

/* For an executable of several shapes these describe the first. */
COLLAGE_API size_t collage_executable_input_count(const collage_executable* executable);
COLLAGE_API size_t collage_executable_output_count(const collage_executable* executable);
/* NULL where there is no such input or output. */
COLLAGE_API const collage_port* collage_executable_input(const collage_executable* executable, size_t index);
COLLAGE_API const collage_port* collage_executable_output(const collage_executable* executable, size_t index);
/* The predicted time of one run in seconds. */
COLLAGE_API double collage_executable_predicted_seconds(const collage_executable* executable);
/* The placed model as a text in the model language, without weights, as `collage-run --placed` prints it. */
COLLAGE_API const char* collage_executable_placed(const collage_executable* executable);
/* Writes a package, as `collagec -o NAME.collage` does: a file of any name, which `collage-run` and the function below
 * read (for the hosts of a cluster: `mpirun collage-run`).
 * It is for processors that have what this one has. An earlier file of the name is replaced when the new one is
 * whole. */
COLLAGE_API int collage_executable_save(const collage_executable* executable, const char* path, char* error,
                                        size_t error_size);
/* Reads a package. NULL after an error: a file of another kind, a damaged one, one of another format version, or one
 * for another processor. The file stays mapped as long as the executable and its sessions live: replace it by renaming,
 * do not write into it. */
COLLAGE_API collage_executable* collage_executable_load(const char* path, char* error, size_t error_size);
COLLAGE_API void collage_executable_free(collage_executable* executable);

/* Specialisations in a package that `collagec --buckets` wrote; 1 for any other executable. Reading the package reads
 * the first of them, and each other one when it is first used. */
COLLAGE_API size_t collage_executable_shape_count(const collage_executable* executable);
/* `batch=8,seq=64`; "" of an executable that no buckets made, NULL where there is no such specialisation. */
COLLAGE_API const char* collage_executable_shape_name(const collage_executable* executable, size_t index);
/* One specialisation as an executable of its own, for collage_session_create and collage_requests_open. NULL after an
 * error. */
COLLAGE_API collage_executable* collage_executable_shape(const collage_executable* executable, size_t index,
                                                         char* error, size_t error_size);

/* Loads an executable. `threads`: of the host, at most 1024. 0: as many as were asked for when it was compiled, by the
 * setting `threads` or `--threads`; where none were, one for a plan of little work, which more threads would not make
 * faster (about 50 us by one), and one per core for others. Where many threads of the caller run models at once, 1
 * serves them best. NULL after an error. */
COLLAGE_API collage_session* collage_session_create(const collage_executable* executable, int32_t threads, char* error,
                                                    size_t error_size);
/* One run. Buffers are the caller's, in the order of the executable's inputs and outputs, each of the bytes that its
 * port says, NULL or not where these are 0; an output must not overlap another buffer. They need no alignment; those
 * aligned to 64 bytes are used in place where the plan permits it, the others are copied. After a failure the outputs
 * hold anything. */
COLLAGE_API int collage_session_run(collage_session* session, const void* const* inputs, void* const* outputs,
                                    char* error, size_t error_size);
/* Simulated time that devices and links have spent on the runs of the session, in seconds. */
COLLAGE_API double collage_session_device_seconds(const collage_session* session);
/* Bytes that the runs of the session have moved over links of devices, and between hosts, both ways. */
COLLAGE_API uint64_t collage_session_link_bytes(const collage_session* session);

/* From now on the input of each run is the output of the run before: a cache of keys and values, a state. The next run
 * takes the input from its buffer, as the start; after that the pointers of the two are not used and may be NULL, and
 * that of the output from the next run on. The value stays where it is: on its device, crossing no link, where output
 * and input are copied from and to the same device and nothing on the host uses them. Output and input have the same
 * dtype and shape. */
COLLAGE_API int collage_session_keep(collage_session* session, size_t output, size_t input, char* error,
                                     size_t error_size);
/* Copies the value of a kept output after the last run into `buffer`, of the bytes that its port says. */
COLLAGE_API int collage_session_read_kept(const collage_session* session, size_t output, void* buffer, char* error,
                                          size_t error_size);
/* The next run takes all kept inputs from their buffers again. */
COLLAGE_API void collage_session_restart_kept(collage_session* session);
COLLAGE_API void collage_session_free(collage_session* session);

/* Runs an executable of one shape or of several on inputs of any shape that it takes. `threads`: as above. The `kept`
 * specialisations that were used last stay loaded, at least 1. NULL after an error. */
COLLAGE_API collage_shaped_session* collage_shaped_session_create(const collage_executable* executable, int32_t threads,
                                                                  size_t kept, char* error, size_t error_size);
/* One run, by the specialisation for the shapes of the inputs, `count` of them in the order of the executable's. A size
 * between two specialisations runs in the next larger one where it was proved that results do not depend on what is
 * padded: inputs get more rows, the last one again, and the results have the rows of the inputs. Other shapes are
 * refused with those that there are. */
COLLAGE_API int collage_shaped_session_run(collage_shaped_session* session, const collage_array* inputs, size_t count,
                                           char* error, size_t error_size);
/* Results of the last run, which live until the next one. */
COLLAGE_API size_t collage_shaped_session_result_count(const collage_shaped_session* session);
/* NULL where there is no such result. */
COLLAGE_API const collage_array* collage_shaped_session_result(const collage_shaped_session* session, size_t index);
/* Which specialisation the last run took. */
COLLAGE_API size_t collage_shaped_session_taken(const collage_shaped_session* session);
COLLAGE_API void collage_shaped_session_free(collage_shaped_session* session);

/* What collage_requests_submit returns where as many requests wait as may. */
#define COLLAGE_BUSY 2

/* Loads an executable for several runs at once: `workers` of them, at least 1, each with `threads` of the host as a
 * session has them. At most `capacity` more requests wait, at least 1. `instances`: how many of each device there are,
 * such as "npu=2": each request goes to the one with the fewest requests; not for the hosts of a cluster. NULL: as many
 * as the executable was compiled for. NULL after an error. */
COLLAGE_API collage_requests* collage_requests_open(const collage_executable* executable, int32_t threads,
                                                    int32_t workers, size_t capacity, const char* instances,
                                                    char* error, size_t error_size);
/* Hands a run over and returns at once: 0 with `*request`, COLLAGE_BUSY where there is no room, or 1 after another
 * error; `*request` is then NULL. Buffers as collage_session_run has them; they stay as they are until the request is
 * done. */
COLLAGE_API int collage_requests_submit(collage_requests* requests, const void* const* inputs, void* const* outputs,
                                        collage_request** request, char* error, size_t error_size);
/* Requests that were accepted are served first. */
COLLAGE_API void collage_requests_free(collage_requests* requests);
/* Waits until the request is done. Returns 0 if it succeeded; the same again where it is called again. */
COLLAGE_API int collage_request_wait(collage_request* request, char* error, size_t error_size);
/* 1 if collage_request_wait would not wait. */
COLLAGE_API int collage_request_is_done(const collage_request* request);
/* Waits, too: the buffers are the caller's again. */
COLLAGE_API void collage_request_free(collage_request* request);

/* Reads an .npy file. NULL after an error. */
COLLAGE_API collage_tensor* collage_tensor_read(const char* path, char* error, size_t error_size);
COLLAGE_API const collage_port* collage_tensor_port(const collage_tensor* tensor);
COLLAGE_API const void* collage_tensor_data(const collage_tensor* tensor);
COLLAGE_API void collage_tensor_free(collage_tensor* tensor);

#ifdef __cplusplus
}
#endif

#endif
