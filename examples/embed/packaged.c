/* SPDX-License-Identifier: Apache-2.0
 * Runs a package of the digits model, which `collagec digits.ir -o digits.collage` writes: `packaged FILE`. It needs no
 * compiler. Start it in examples/digits. */
#include <collage/runtime.h>
#include <stdio.h>

static int class_of(const float* scores) {
  int best = 0;
  for (int i = 1; i < 10; ++i) best = scores[i] > scores[best] ? i : best;
  return best;
}

int main(int argc, char** argv) {
  char error[256] = "";
  collage_executable* executable = collage_executable_load(argc > 1 ? argv[1] : NULL, error, sizeof error);
  if (executable == NULL) return fprintf(stderr, "%s\n", error), 1;
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
  return 0;
}
