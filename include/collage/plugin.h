/* SPDX-License-Identifier: Apache-2.0
 *
 * The plug-in ABI, plain C: a shared library that runs whole partitions in host memory. A rule file names it by
 * `runtime plugin "libNAME.so"`; with `--allow-code` Collage looks for it in the folder of the rule file, then in the
 * folders of the environment variable COLLAGE_PLUGIN_PATH.
 *
 * A plug-in exports one function, `collage_plugin_entry`. Collage asks it for the version that it was compiled with
 * itself; a plug-in that does not have that version returns NULL and is absent. Then, for each partition:
 *
 *     prepare(program)  ->  kernel      when the plan is made (then destroyed), and when it is loaded
 *     run(kernel, inputs, outputs)      any number of times, never concurrently for one kernel
 *     destroy(kernel)
 *
 * Functions that can fail return 0 on success; otherwise they write a text into `error` (at most `error_size` bytes,
 * with the terminating zero). A refusal in `prepare` is not an error: the partition falls back, and the text is the
 * reason. Collage owns everything that it passes. It is valid until the call returns; the program until `destroy`.
 */
#ifndef COLLAGE_PLUGIN_H
#define COLLAGE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with every change of this file that a compiled plug-in would notice. */
#define COLLAGE_PLUGIN_ABI_VERSION 1u

/* A tensor of the program. Its elements are dense; `layout` is the order of the dimensions in memory. */
typedef struct collage_value {
  int32_t dtype;
  int32_t rank;
  const int64_t* shape; /* logical, of `rank` */
  const char* layout;   /* "plain": row-major; otherwise as in rule files, "NHWC" */
  const void* constant; /* the data of a constant, otherwise NULL */
  size_t constant_bytes;
  const char* encoding; /* of a constant: "" plain, otherwise as in the rule's `encode`, "OHWI+bf16" */
} collage_value;

/* A number, a text or a list, of an operator's attribute or of a lowering call. */
enum collage_attr_kind {
  COLLAGE_INT = 0,
  COLLAGE_FLOAT = 1,
  COLLAGE_TEXT = 2,
  COLLAGE_INTS = 3,
  COLLAGE_FLOATS = 4,
  COLLAGE_VALUE = 5 /* of a lowering call: `number` is an index into the program's values */
};

typedef struct collage_attr {
  const char* name;
  int32_t kind;
  int64_t number;
  double real;
  const char* text;
  size_t count; /* of the lists */
  const int64_t* numbers;
  const double* reals;
} collage_attr;

/* An operator, by ONNX's names and meanings (opset 17). Attributes are as written: defaults are not filled in. */
typedef struct collage_op {
  const char* name;
  size_t input_count;
  const int32_t* inputs; /* indices into the program's values; -1: left out */
  size_t output_count;
  const int32_t* outputs;
  size_t attr_count;
  const collage_attr* attrs;
} collage_op;

/* What a rule's `lower` asks for, of one match: `lower "conv"(x, w, lanes)`. */
typedef struct collage_call {
  const char* rule;
  const char* symbol;
  size_t arg_count;
  const collage_attr* args;
  size_t op_count;
  const int32_t* ops; /* indices into the program's operators */
} collage_call;

/* Operators are in an order in which they can run. `inputs` and `outputs` are those that `run` is given. */
typedef struct collage_program {
  size_t value_count;
  const collage_value* values;
  size_t op_count;
  const collage_op* ops;
  size_t call_count;
  const collage_call* calls;
  size_t input_count;
  const int32_t* inputs;
  size_t output_count;
  const int32_t* outputs;
  int32_t threads;
} collage_program;

typedef struct collage_plugin {
  uint32_t abi_version; /* COLLAGE_PLUGIN_ABI_VERSION, always the first member */
  const char* name;
  const char* version; /* of the plug-in: measured costs of another version do not count */
  int (*prepare)(const collage_program* program, void** kernel, char* error, size_t error_size);
  /* Line `index` of a description of a run; NULL after the last. */
  const char* (*describe)(void* kernel, size_t index);
  /* Buffers are aligned to 64 bytes; no input overlaps an output. */
  int (*run)(void* kernel, const void* const* inputs, void* const* outputs, char* error, size_t error_size);
  void (*destroy)(void* kernel);
} collage_plugin;

/* `abi_version`: what Collage was compiled with. NULL: this plug-in is of another version. */
const collage_plugin* collage_plugin_entry(uint32_t abi_version);
typedef const collage_plugin* (*collage_plugin_entry_fn)(uint32_t abi_version);

#ifdef __cplusplus
}
#endif

#endif
