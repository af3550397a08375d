/* SPDX-License-Identifier: Apache-2.0
 *
 * A plug-in for tests, and an example of one: f32 Relu, Add and Mul of equal shapes, one call after another. Compiled
 * again with SAMPLE_ABI it answers with that version of the ABI, with SAMPLE_FAILS its runs fail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/collage/plugin.h"

#ifndef SAMPLE_ABI
#define SAMPLE_ABI COLLAGE_PLUGIN_ABI_VERSION
#endif

typedef struct sample_kernel {
  const collage_program* program;
  float** values; /* by value; of those made inside, owned */
  char** lines;   /* one per lowering call */
} sample_kernel;

static size_t elements(const collage_value* value) {
  size_t count = 1;
  for (int32_t i = 0; i < value->rank; ++i) count *= (size_t)value->shape[i];
  return count;
}

static int is_boundary(const collage_program* program, int32_t value) {
  for (size_t i = 0; i < program->input_count; ++i) {
    if (program->inputs[i] == value) return 1;
  }
  for (size_t i = 0; i < program->output_count; ++i) {
    if (program->outputs[i] == value) return 1;
  }
  return 0;
}

static const char* refusal(const collage_program* program, const collage_op* op) {
  if (strcmp(op->name, "Relu") != 0 && strcmp(op->name, "Add") != 0 && strcmp(op->name, "Mul") != 0) return op->name;
  for (size_t i = 0; i < op->input_count; ++i) {
    const collage_value* value = &program->values[op->inputs[i]];
    if (value->dtype != COLLAGE_F32) return "a dtype that is not f32";
    if (strcmp(value->layout, "plain") != 0 || value->encoding[0] != '\0') return "a layout that is not plain";
    if (elements(value) != elements(&program->values[op->outputs[0]])) return "a broadcast";
  }
  return NULL;
}

static void destroy(void* opaque) {
  sample_kernel* kernel = opaque;
  for (size_t i = 0; i < kernel->program->value_count; ++i) {
    int owned = !is_boundary(kernel->program, (int32_t)i) && kernel->program->values[i].constant == NULL;
    if (owned) free(kernel->values[i]);
  }
  for (size_t i = 0; i < kernel->program->call_count; ++i) free(kernel->lines[i]);
  free(kernel->values);
  free(kernel->lines);
  free(kernel);
}

/* `sample_relu(lanes = 4)` */
static char* line_of(const collage_call* call) {
  char text[128];
  int at = snprintf(text, sizeof text, "%s(", call->symbol);
  for (size_t i = 0; i < call->arg_count && at < 100; ++i) {
    if (call->args[i].kind != COLLAGE_INT) continue;
    at += snprintf(text + at, sizeof text - (size_t)at, "%s = %lld", call->args[i].name, (long long)call->args[i].number);
  }
  if (at < 100) snprintf(text + at, sizeof text - (size_t)at, ")");
  return strdup(text);
}

static int prepare(const collage_program* program, void** out, char* error, size_t error_size) {
  for (size_t i = 0; i < program->op_count; ++i) {
    const char* why = refusal(program, &program->ops[i]);
    if (why == NULL) continue;
    snprintf(error, error_size, "it cannot run %s", why);
    return 1;
  }
  sample_kernel* kernel = calloc(1, sizeof *kernel);
  kernel->program = program;
  kernel->values = calloc(program->value_count + 1, sizeof *kernel->values);
  kernel->lines = calloc(program->call_count + 1, sizeof *kernel->lines);
  for (size_t i = 0; i < program->value_count; ++i) {
    if (program->values[i].constant != NULL) {
      kernel->values[i] = (float*)program->values[i].constant;
    } else if (!is_boundary(program, (int32_t)i)) {
      kernel->values[i] = calloc(elements(&program->values[i]) + 1, sizeof(float));
    }
  }
  for (size_t i = 0; i < program->call_count; ++i) kernel->lines[i] = line_of(&program->calls[i]);
  *out = kernel;
  return 0;
}

static const char* describe(void* opaque, size_t index) {
  const sample_kernel* kernel = opaque;
  return index < kernel->program->call_count ? kernel->lines[index] : NULL;
}

static int run(void* opaque, const void* const* inputs, void* const* outputs, char* error, size_t error_size) {
  sample_kernel* kernel = opaque;
  const collage_program* program = kernel->program;
#ifdef SAMPLE_FAILS
  snprintf(error, error_size, "the sample is out of order");
  return 1;
#endif
  (void)error;
  (void)error_size;
  for (size_t i = 0; i < program->input_count; ++i) kernel->values[program->inputs[i]] = (float*)inputs[i];
  for (size_t i = 0; i < program->output_count; ++i) kernel->values[program->outputs[i]] = outputs[i];
  for (size_t i = 0; i < program->op_count; ++i) {
    const collage_op* op = &program->ops[i];
    const float* a = kernel->values[op->inputs[0]];
    const float* b = op->input_count > 1 ? kernel->values[op->inputs[1]] : NULL;
    float* y = kernel->values[op->outputs[0]];
    size_t count = elements(&program->values[op->outputs[0]]);
    for (size_t e = 0; e < count; ++e) {
      y[e] = b == NULL ? (a[e] > 0 ? a[e] : 0) : op->name[0] == 'A' ? a[e] + b[e] : a[e] * b[e];
    }
  }
  return 0;
}

static const collage_plugin kPlugin = {SAMPLE_ABI, "sample", "1.0", prepare, describe, run, destroy};

const collage_plugin* collage_plugin_entry(uint32_t abi_version) {
  (void)abi_version; /* an older plug-in may not look at it */
  return &kPlugin;
}
