/* SPDX-License-Identifier: Apache-2.0
 * Many requests at once and a state that stays on its device, in C: `c_requests state.collage`. */
#include <collage/runtime.h>
#include <stdio.h>
#include <string.h>

#define ELEMENTS 64
#define BYTES (ELEMENTS * sizeof(float))

static int failures = 0;

#define EXPECT(condition)                                                          \
  do {                                                                             \
    if (!(condition)) {                                                            \
      fprintf(stderr, "%s:%d: expected: %s\n", __FILE__, __LINE__, #condition);    \
      ++failures;                                                                  \
    }                                                                              \
  } while (0)

/* In the order of the executable: x and state, next and y. */
struct buffers {
  float x[ELEMENTS], state[ELEMENTS], next[ELEMENTS], y[ELEMENTS];
};

static void fill(struct buffers* buffers, float from) {
  memset(buffers, 0, sizeof *buffers);
  for (int i = 0; i < ELEMENTS; ++i) {
    buffers->x[i] = from + (float)i;
    buffers->state[i] = 1;
  }
}

static int is_right(const struct buffers* buffers, float from) {
  for (int i = 0; i < ELEMENTS; ++i) {
    if (buffers->next[i] != from + (float)i + 1 || buffers->y[i] != -buffers->next[i]) return 0;
  }
  return 1;
}

static int submit(collage_requests* requests, struct buffers* buffers, collage_request** request, char* error,
                  size_t error_size) {
  const void* inputs[] = {buffers->x, buffers->state};
  void* outputs[] = {buffers->next, buffers->y};
  return collage_requests_submit(requests, inputs, outputs, request, error, error_size);
}

/* More requests than there is room for: those that are refused are handed over again. */
static void test_requests(const collage_executable* executable, const char* instances) {
  enum { kCount = 60, kWorkers = 3, kCapacity = 2 };
  static struct buffers all[kCount];
  collage_request* requests[kCount] = {0};
  char error[256] = "";
  collage_requests* queue =
      collage_requests_open(executable, 1, kWorkers, kCapacity, instances, error, sizeof error);
  if (queue == NULL) {
    fprintf(stderr, "%s\n", error);
    ++failures;
    return;
  }
  int oldest = 0;
  for (int i = 0; i < kCount; ++i) {
    fill(&all[i], (float)i);
    int code = submit(queue, &all[i], &requests[i], error, sizeof error);
    while (code == COLLAGE_BUSY) {
      EXPECT(requests[i] == NULL);
      EXPECT(strcmp(error, "as many requests wait as may") == 0);
      EXPECT(collage_request_wait(requests[oldest++], error, sizeof error) == 0);
      code = submit(queue, &all[i], &requests[i], error, sizeof error);
    }
    EXPECT(code == 0);
  }
  for (int i = 0; i < kCount; ++i) {
    EXPECT(collage_request_wait(requests[i], error, sizeof error) == 0);
    EXPECT(collage_request_is_done(requests[i]) == 1);
    EXPECT(collage_request_wait(requests[i], error, sizeof error) == 0);
    EXPECT(is_right(&all[i], (float)i));
    collage_request_free(requests[i]);
  }
  collage_requests_free(queue);
}

/* What was accepted is served although all handles are freed at once. */
static void test_free(const collage_executable* executable) {
  static struct buffers all[4];
  collage_requests* queue = collage_requests_open(executable, 1, 1, 4, NULL, NULL, 0);
  collage_request* requests[4];
  for (int i = 0; i < 4; ++i) {
    fill(&all[i], (float)i);
    EXPECT(submit(queue, &all[i], &requests[i], NULL, 0) == 0);
  }
  collage_requests_free(queue);
  for (int i = 0; i < 4; ++i) {
    collage_request_free(requests[i]);
    EXPECT(is_right(&all[i], (float)i));
  }
}

static void test_mistakes(const collage_executable* executable) {
  char error[256] = "";
  struct buffers buffers;
  collage_request* request = (collage_request*)&buffers;
  EXPECT(collage_requests_open(NULL, 1, 1, 1, NULL, error, sizeof error) == NULL);
  EXPECT(strcmp(error, "there is no executable") == 0);
  EXPECT(collage_requests_open(executable, 1, 2000, 1, NULL, error, sizeof error) == NULL);
  EXPECT(strcmp(error, "more than 1024 threads") == 0);
  EXPECT(collage_requests_open(executable, 1, 1, 1, "npu", error, sizeof error) == NULL);
  EXPECT(strcmp(error, "`npu` is no number of instances: want `npu=2`") == 0);
  EXPECT(submit(NULL, &buffers, &request, error, sizeof error) == 1);
  EXPECT(request == NULL);
  collage_requests* queue = collage_requests_open(executable, 1, 1, 1, NULL, error, sizeof error);
  EXPECT(queue != NULL);
  const void* inputs[] = {buffers.x, NULL};
  void* outputs[] = {buffers.next, buffers.y};
  EXPECT(collage_requests_submit(queue, inputs, outputs, &request, error, sizeof error) == 1);
  EXPECT(strcmp(error, "a buffer is missing") == 0);
  EXPECT(submit(queue, &buffers, NULL, error, sizeof error) == 1);
  collage_requests_free(queue);
  collage_requests_free(NULL);
  collage_request_free(NULL);
  EXPECT(collage_request_wait(NULL, error, sizeof error) == 1);
  EXPECT(collage_request_is_done(NULL) == 0);
}

/* The state crosses the link once, as the start of the first run. */
static void test_state(const collage_executable* executable) {
  char error[256] = "";
  struct buffers buffers;
  float kept[ELEMENTS], expected[ELEMENTS];
  collage_session* session = collage_session_create(executable, 1, error, sizeof error);
  EXPECT(collage_session_keep(session, 0, 7, error, sizeof error) == 1);
  EXPECT(collage_session_keep(session, 0, 1, error, sizeof error) == 0);
  EXPECT(collage_session_read_kept(session, 0, kept, error, sizeof error) == 1);
  for (int i = 0; i < ELEMENTS; ++i) expected[i] = 1;
  for (int run = 0; run < 4; ++run) {
    fill(&buffers, (float)run);
    const void* inputs[] = {buffers.x, run == 0 ? buffers.state : NULL};
    void* outputs[] = {NULL, buffers.y};
    const uint64_t before = collage_session_link_bytes(session);
    EXPECT(collage_session_run(session, inputs, outputs, error, sizeof error) == 0);
    EXPECT(collage_session_link_bytes(session) - before == (run == 0 ? 3 : 2) * BYTES);
    for (int i = 0; i < ELEMENTS; ++i) {
      expected[i] += buffers.x[i];
      EXPECT(buffers.y[i] == -expected[i]);
    }
  }
  EXPECT(collage_session_read_kept(session, 0, kept, error, sizeof error) == 0);
  EXPECT(memcmp(kept, expected, sizeof kept) == 0);
  collage_session_restart_kept(session);
  const void* inputs[] = {buffers.x, NULL};
  void* outputs[] = {NULL, buffers.y};
  EXPECT(collage_session_run(session, inputs, outputs, error, sizeof error) == 1);
  EXPECT(strcmp(error, "a buffer is missing") == 0);
  collage_session_free(session);
  EXPECT(collage_session_keep(NULL, 0, 0, error, sizeof error) == 1);
  EXPECT(collage_session_link_bytes(NULL) == 0);
  collage_session_restart_kept(NULL);
}

int main(int argc, char** argv) {
  char error[256] = "";
  collage_executable* executable = collage_executable_load(argc > 1 ? argv[1] : NULL, error, sizeof error);
  if (executable == NULL) return fprintf(stderr, "%s\n", error), 1;
  test_requests(executable, NULL);
  test_requests(executable, "npu=1");
  test_requests(executable, "npu=3");
  test_requests(executable, "npu=0");
  test_free(executable);
  test_mistakes(executable);
  test_state(executable);
  collage_executable_free(executable);
  if (failures == 0) puts("all is right");
  return failures == 0 ? 0 : 1;
}
