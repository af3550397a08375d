// SPDX-License-Identifier: Apache-2.0
// The module of mpi/module.h, compiled once against each MPI library.
#include "runtime/cluster/mpi/module.h"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace {

struct MpiRequest {
  MPI_Request request = MPI_REQUEST_NULL;
  bool is_receive = false;
};

MPI_Comm communicator = MPI_COMM_NULL;

/// The communicator is a copy: messages of others on MPI_COMM_WORLD are not ours.
int start(int* rank, int* size) {
  int granted = MPI_THREAD_SINGLE;
  if (int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &granted); error != MPI_SUCCESS) return error;
  if (granted < MPI_THREAD_FUNNELED) return MPI_ERR_OTHER;
  (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (int error = MPI_Comm_dup(MPI_COMM_WORLD, &communicator); error != MPI_SUCCESS) return error;
  (void)MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  if (int error = MPI_Comm_rank(communicator, rank); error != MPI_SUCCESS) return error;
  return MPI_Comm_size(communicator, size);
}

int give(MpiRequest* made, int error, void** request) {
  if (error != MPI_SUCCESS) {
    delete made;
    made = nullptr;
  }
  *request = made;
  return error;
}

int send(const void* bytes, size_t count, int peer, int tag, void** request) {
  auto* made = new (std::nothrow) MpiRequest;
  if (made == nullptr) return MPI_ERR_NO_MEM;
  return give(made, MPI_Isend(bytes, static_cast<int>(count), MPI_BYTE, peer, tag, communicator, &made->request),
              request);
}

int receive(void* bytes, size_t count, int peer, int tag, void** request) {
  auto* made = new (std::nothrow) MpiRequest;
  if (made == nullptr) return MPI_ERR_NO_MEM;
  made->is_receive = true;
  const int from = peer == COLLAGE_MPI_ANY_PEER ? MPI_ANY_SOURCE : peer;
  return give(made, MPI_Irecv(bytes, static_cast<int>(count), MPI_BYTE, from, tag, communicator, &made->request),
              request);
}

int test(void* request, int* is_done, size_t* count, int* peer) {
  auto* made = static_cast<MpiRequest*>(request);
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  *is_done = 0;
  const int error = MPI_Test(&made->request, is_done, &status);
  if (error == MPI_SUCCESS && *is_done == 0) return error;
  if (error == MPI_SUCCESS && made->is_receive) {
    int received = 0;
    (void)MPI_Get_count(&status, MPI_BYTE, &received);
    *count = static_cast<size_t>(std::max(received, 0));
    *peer = status.MPI_SOURCE;
  }
  delete made;
  return error;
}

void cancel(void* request) {
  auto* made = static_cast<MpiRequest*>(request);
  // What was sent cannot be called back: its memory is freed with the process at the latest.
  if (made->is_receive) (void)MPI_Cancel(&made->request);
  (void)MPI_Request_free(&made->request);
  delete made;
}

void abort_all(int code) {
  (void)MPI_Abort(MPI_COMM_WORLD, code);
}

int finish() {
  (void)MPI_Comm_free(&communicator);
  return MPI_Finalize();
}

void describe(int error, char* text, size_t size) {
  char whole[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  if (MPI_Error_string(error, whole, &length) != MPI_SUCCESS) std::strcpy(whole, "unknown error");
  const size_t shown = std::min(std::strlen(whole), size - 1);
  std::memcpy(text, whole, shown);
  text[shown] = '\0';
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const collage_mpi_functions* collage_mpi_module() {
  static const collage_mpi_functions functions = {COLLAGE_MPI_MODULE_VERSION,
                                                  COLLAGE_MPI_LIBRARY,
                                                  &start,
                                                  &send,
                                                  &receive,
                                                  &test,
                                                  &cancel,
                                                  &abort_all,
                                                  &finish,
                                                  &describe};
  return &functions;
}
