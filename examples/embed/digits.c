/* SPDX-License-Identifier: Apache-2.0
 * Compiles and runs the digits model. Start it in examples/digits. */
#include <collage/compiler.h>
#include <stdio.h>

static int class_of(const float* scores) {
  int best = 0;
  for (int i = 1; i < 10; ++i) best = scores[i] > scores[best] ? i : best;
  return best;
}

int main(void) {
  char error[256] = "";
  collage_compiler* compiler = collage_compiler_create(COLLAGE_ABI_VERSION);
  collage_compiler_set(compiler, "costs", "estimate");
  collage_model* model = collage_model_load(compiler, "digits.ir");
  collage_placement* placement = collage_place(model);
  collage_executable* executable = collage_build(placement);
  if (executable == NULL) fputs(collage_diagnostics_text(compiler), stderr);
  collage_session* session = collage_session_create(executable, 0, error, sizeof error);

  collage_tensor* images = collage_tensor_read("test_images.npy", error, sizeof error);
  collage_tensor* labels = collage_tensor_read("test_labels.npy", error, sizeof error);
  if (session == NULL || images == NULL || labels == NULL) return fprintf(stderr, "%s\n", error), 1;
  const float* image = collage_tensor_data(images);
  const int64_t* label = collage_tensor_data(labels);
  int right = 0, count = (int)collage_tensor_port(labels)->shape[0];
  for (int i = 0; i < count; ++i) {
    float scores[10];
    if (collage_session_run(session, (const void*[]){image + 64 * i}, (void*[]){scores}, error, sizeof error) != 0)
      return fprintf(stderr, "%s\n", error), 1;
    right += class_of(scores) == label[i];
  }
  printf("accuracy %.1f %% (%d of %d)\n", 100.0 * right / count, right, count);

  collage_tensor_free(images);
  collage_tensor_free(labels);
  collage_session_free(session);
  collage_executable_free(executable);
  collage_placement_free(placement);
  collage_model_free(model);
  collage_compiler_free(compiler);
  return 0;
}
