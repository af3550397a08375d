/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiles models, plain C: libcollage_compiler. Each step gives a handle that can be used several times:
 *
 *     collage_compiler    settings and rules, and the diagnostics of everything that is done with it
 *     collage_model       a model that was read
 *     collage_placement   where each part of a model runs, under the settings that held when it was searched
 *     collage_executable  compiled code (runtime.h)
 *     collage_dynamic_session   a model of open shapes, compiled while it runs
 *
 *     collage_compiler* compiler = collage_compiler_create(COLLAGE_ABI_VERSION);
 *     collage_model* model = collage_model_load(compiler, "digits.ir");
 *     collage_placement* placement = collage_place(model);
 *     collage_executable* executable = collage_build(placement);
 *     if (executable == NULL) fputs(collage_diagnostics_text(compiler), stderr);
 *
 * Errors: a step that fails returns NULL (or not 0) and leaves diagnostics with its compiler. Handles that are NULL are
 * accepted everywhere: what is given one fails, so that a program can check the last step alone.
 *
 * Threads: a compiler and all models and placements that come from it are used by one thread at a time. Compilers are
 * independent of each other. An executable may be used by several threads (runtime.h).
 *
 * Ownership: every handle is freed by its own function, in any order; what it needs of others it keeps alive. Texts
 * that are returned as `const char*` belong to the handle and live as long as it, or until the next call of the same
 * function with it; those that are returned as `char*` are freed by collage_text_free.
 */
#ifndef COLLAGE_COMPILER_H
#define COLLAGE_COMPILER_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct collage_compiler collage_compiler;
typedef struct collage_model collage_model;
typedef struct collage_placement collage_placement;

COLLAGE_API const char* collage_compiler_version(void);

/* `abi_version`: COLLAGE_ABI_VERSION. NULL where the library has another one. */
COLLAGE_API collage_compiler* collage_compiler_create(uint32_t abi_version);
COLLAGE_API void collage_compiler_free(collage_compiler* compiler);

/* Reads rule files, or folders of them, in place of the rules that came with the library. 0 after success. With no
 * paths there are no rules: everything runs on the host. */
COLLAGE_API int collage_compiler_rules(collage_compiler* compiler, const char* const* paths, size_t count);

/* Holds a file in memory: from now on, where a model, a rule file or a placement of exactly this path is read, `bytes`
 * is read, whether there is such a file or not. A path that ends in .onnx is a model of ONNX, as everywhere. Files that
 * the bytes lead to are looked for in the folder of the path. The bytes are copied; NULL: the file is forgotten. 0
 * after success. */
COLLAGE_API int collage_compiler_file(collage_compiler* compiler, const char* path, const void* bytes, size_t size);

/* Changes a setting for the steps that follow. 0 after success. Names and values are those of the command's options:
 *
 *     strategy     optimal | greedy | eager | merge | tvm | priority:A,B | single:A | onnxruntime | litert:N,M |
 *                  torch_tensorrt:N | executorch | hetero | relax (evolve is for the command alone: it runs the
 *                  placements that it compares)
 *     objective    latency | makespan | throughput | energy
 *     costs        measured | estimate
 *     cost-db      FILE, or postgresql://USER@HOST/DATABASE; empty: measured costs are not kept
 *     cost-db-lost  forget | estimate | FILE: what follows where that server is lost
 *     measure-on   arch=aarch64, cpu=…, host=… or name=…: the machine of workers on that server whose costs count
 *     cache        FOLDER of compiled code and of solved searches; empty: they are not kept
 *     threads      N; without it one per core, and runs of plans of little work have one (collage_session_create)
 *     cpu          the processor that host code is for, as LLVM names it: haswell, x86-64-v3; empty: this one
 *     numerics     strict | f32 | fast: what generated code may compute f32 sums by
 *     budget       SECONDS of the search
 *     max-states   N, a budget that does not depend on the machine
 *     strict       true | false: a backend that is absent or fails is an error
 *     simulated    true | false: models of chips take part that no target, rule file or constraint names
 *     allow-code   true | false: plug-ins and cost programs that rule files name may run
 *     allow-outside  true | false: models and rule files may lead to files outside their folders
 *     placement    FILE: a placement to be followed; empty: none
 *
 * and lists, to which each call adds one, and which an empty value clears:
 *
 *     target       NAME[,attribute=value]…: use only these backends
 *     allow        [BACKEND=]DTYPES: values may be rounded to these
 *     memory       DEVICE=SIZE
 *     place, forbid, together   constraints on nodes
 *     shape        NAME=1x3x224x224: an input whose dimensions a model leaves open; NAME=8 or NAME=1..512: a dimension
 *                  of this name, wherever it stands
 *     buckets      NAME=N,N…: sizes of a dimension for dynamic sessions, once for each dimension
 *     default      NAME=FILE: a tensor in place of the default that an .onnx file has for an input; it is a constant of
 *                  what is compiled
 */
COLLAGE_API int collage_compiler_set(collage_compiler* compiler, const char* name, const char* value);

enum collage_severity { COLLAGE_ERROR = 0, COLLAGE_WARNING = 1 };

typedef struct collage_diagnostic {
  int32_t severity;    /* enum collage_severity */
  const char* code;    /* "CG0102" */
  const char* file;    /* of the text, or what names the place: "model.onnx: node 'conv1'", "--strategy" */
  int32_t line;        /* from 1; 0: the place is not in a text */
  int32_t column;      /* from 1, in bytes */
  const char* message; /* lower case, without period; notes follow as further lines */
} collage_diagnostic;

/* Since the compiler was created or they were cleared, in the order in which they arose. */
COLLAGE_API size_t collage_diagnostic_count(const collage_compiler* compiler);
/* 0 after success. The texts live until the diagnostics are cleared. */
COLLAGE_API int collage_diagnostic_get(collage_compiler* compiler, size_t index, collage_diagnostic* diagnostic);
/* All of them as lines for people, with the lines of source that they are about. */
COLLAGE_API const char* collage_diagnostics_text(collage_compiler* compiler);
/* The same of those from the index `first` on: what a step left, with the count of before it. */
COLLAGE_API const char* collage_diagnostics_text_from(collage_compiler* compiler, size_t first);
/* All of them as a JSON list: severity, code, file, message, and where the place is in a text, line, column, end_line,
 * end_column, and source, the line itself; notes: objects with message, and file, line and column where they have a
 * place. NULL after an error. */
COLLAGE_API char* collage_diagnostics_json(collage_compiler* compiler);
COLLAGE_API void collage_diagnostics_clear(collage_compiler* compiler);

/* What a long step is at. */
typedef struct collage_progress {
  const char* work; /* measuring, searching, compiling, checking or running */
  size_t done;
  size_t of;          /* 0: it is not known */
  const char* detail; /* what is worked on; of a search its cost, bound and gap; "" where there is nothing to say */
} collage_progress;
typedef void (*collage_listener)(void* context, const collage_progress* progress);

/* From now on `listener` is called while steps of the compiler work, by the thread that called the step, up to some
 * hundred times a second. The progress lives until it returns. It may call collage_compiler_stop and nothing else of
 * the compiler. `context` lives as long as the compiler and the models, placements and dynamic sessions that were made
 * of it. NULL: none is called any more. 0 after success. */
COLLAGE_API int collage_compiler_listen(collage_compiler* compiler, collage_listener listener, void* context);
/* `stops` 1: makes the step that is at work fail soon, or else the next one; later steps are not concerned. Costs that
 * were measured are kept. 0: takes that back where no step has failed of it yet. From any thread, and from a signal
 * handler. */
COLLAGE_API void collage_compiler_stop(collage_compiler* compiler, int32_t stops);

/* The backends of the rules as the JSON list of `collagec backends --json`: name, kind (`real`: runs on this machine;
 * `absent`, with reason; `model of a chip`: its times are what its rules say), runs_by (`onednn 2.6.3`, `generated
 * code`), rules (their number) and file. NULL after an error. */
COLLAGE_API char* collage_backends_json(collage_compiler* compiler);

/* Reads a model: .onnx, or a text in the model language. */
COLLAGE_API collage_model* collage_model_load(collage_compiler* compiler, const char* path);
COLLAGE_API void collage_model_free(collage_model* model);

/* Finds the placement that the settings ask for. */
COLLAGE_API collage_placement* collage_place(const collage_model* model);
/* What the objective says of it: seconds, or joules. */
COLLAGE_API double collage_placement_value(const collage_placement* placement);
/* No placement has a smaller value than this; 0 where nothing was proven. */
COLLAGE_API double collage_placement_bound(const collage_placement* placement);
/* The summary that the command prints. */
COLLAGE_API char* collage_placement_summary(const collage_placement* placement);
/* The placement file (`placement` above reads it), and what the JSON of `--json` has at `placement`. */
COLLAGE_API char* collage_placement_text(const collage_placement* placement);
COLLAGE_API char* collage_placement_json(const collage_placement* placement);
/* The JSON of `collagec --json`, without what further searches would add: baselines and limits. */
COLLAGE_API char* collage_placement_summary_json(const collage_placement* placement);
/* A JSON list with an object for each node, in the order of the graph: node, op, partition, backend, device, rules,
 * macs, flops, results. The rules are those that match the node. */
COLLAGE_API char* collage_placement_nodes_json(const collage_placement* placement);
/* Why nodes are where they are: NAME, a pattern, op:NAME or model.ir:12-20. NULL after an error.
 *
 * Both questions are about placements for `latency`; with another objective they are errors. Answers are by the costs
 * that are known. One that was not measured is what similar ones let expect, and the answer says so: `about 1.2 ms
 * more: …; 2 costs not measured`. */
COLLAGE_API char* collage_why(const collage_placement* placement, const char* nodes);
/* Why nodes are not on a backend. NULL after an error. */
COLLAGE_API char* collage_why_not(const collage_placement* placement, const char* nodes, const char* backend);
/* The same answers as the JSON of `why --json` and `why-not --json`. */
COLLAGE_API char* collage_why_json(const collage_placement* placement, const char* nodes);
COLLAGE_API char* collage_why_not_json(const collage_placement* placement, const char* nodes, const char* backend);
/* Every strategy on the model of this placement: the JSON of `compare --json`. `runs` > 0: what each finds is built,
 * run so often on random inputs, in turn with the others, and compared with the reference kernels; a result that
 * differs is an error. Measured costs that the search did without are measured first. NULL after an error. */
COLLAGE_API char* collage_compare_json(const collage_placement* placement, int32_t runs);
/* Measures the costs that the search did without, which may take minutes: later answers are by them. The placement
 * stays as it is; where another one costs less by them, an answer says that compiling again would find it. 0 after
 * success. */
COLLAGE_API int collage_placement_measure(const collage_placement* placement);
COLLAGE_API void collage_placement_free(collage_placement* placement);

/* Compiles a placement. What is placed over the hosts of a cluster runs on all of them in this process, and is saved as
 * a package with a part for each (runtime.h). */
COLLAGE_API collage_executable* collage_build(const collage_placement* placement);

/* Where the time of runs goes: JSON with what each kernel, conversion and copy takes, the least of some runs. Also of
 * an executable that was read from a package. `inputs`: as collage_session_run has them; NULL: random ones. Over the
 * hosts of a cluster each row has the host that it runs on, and what hosts wait for is in none. For an executable
 * of several shapes it describes the first. Diagnostics are left with `compiler`. NULL after an error. */
COLLAGE_API char* collage_profile_json(collage_compiler* compiler, const collage_executable* executable,
                                       const void* const* inputs);
/* The same of the specialisation for the shapes of the inputs, which are padded as collage_shaped_session_run has
 * it. */
COLLAGE_API char* collage_profile_arrays_json(collage_compiler* compiler, const collage_executable* executable,
                                              const collage_array* inputs, size_t count);

/* A model that is specialised while it runs: to the shapes of its inputs, when it first meets them. Loops, branches and
 * shapes that values decide are run, too. Used by one thread at a time, together with its compiler. */
typedef struct collage_dynamic_session collage_dynamic_session;

/* Reads a model, .onnx or text, whose specialisations are placed and compiled with the settings as they are now;
 * `shape` and `placement` count for nothing. A size between two of `buckets` is padded to the next larger one, by the
 * last row again, and the results are cut, where it is proved that they do not depend on it: then nothing is compiled
 * for the size. The results differ from those of the size itself by no more than the order of sums in other kernels.
 * Where it is not proved there is a warning with the reason, once for a dimension. The `kept` specialisations that were
 * used last stay, at least 1. NULL after an error, such as buckets of something that is no open dimension of the
 * model. */
COLLAGE_API collage_dynamic_session* collage_dynamic_session_create(collage_compiler* compiler, const char* path,
                                                                    size_t kept);
COLLAGE_API size_t collage_dynamic_session_input_count(const collage_dynamic_session* session);
/* NULL where there is no such input. */
COLLAGE_API const char* collage_dynamic_session_input_name(const collage_dynamic_session* session, size_t index);
/* One run. `inputs`: `count` of them, in the order of the model's inputs. 0 after success. Shapes that were not met
 * before are specialised to first, which takes as long as compiling. */
COLLAGE_API int collage_dynamic_session_run(collage_dynamic_session* session, const collage_array* inputs,
                                            size_t count);
/* Results of the last run, which live until the next one. */
COLLAGE_API size_t collage_dynamic_session_result_count(const collage_dynamic_session* session);
/* NULL where there is no such result. */
COLLAGE_API const collage_array* collage_dynamic_session_result(const collage_dynamic_session* session, size_t index);
COLLAGE_API const char* collage_dynamic_session_result_name(const collage_dynamic_session* session, size_t index);
/* Specialisations made so far, those that were dropped too. */
COLLAGE_API size_t collage_dynamic_session_made(const collage_dynamic_session* session);
COLLAGE_API void collage_dynamic_session_free(collage_dynamic_session* session);

COLLAGE_API void collage_text_free(char* text);

#ifdef __cplusplus
}
#endif

#endif
