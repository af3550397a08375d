# One program per reader of foreign bytes. In the preset `fuzz` they are libFuzzer's (fuzz/README.md); everywhere else
# the same harness replays what is committed: seeds taken from the repository, and the inputs that once broke something.
#
#   collage_fuzz_target(NAME SOURCE FILE DEPENDS TARGET… [PARTS FILE…] [MUTATOR FILE] SEEDS PATH…)
#
# SEEDS: relative to the root. MUTATOR: how libFuzzer changes inputs. PARTS: sources of libraries that would bring LLVM
# along, of which the reader needs these alone.
function(collage_fuzz_target name)
  cmake_parse_arguments(ARG "" "SOURCE;MUTATOR" "DEPENDS;SEEDS;PARTS" ${ARGN})
  list(TRANSFORM ARG_PARTS PREPEND ${PROJECT_SOURCE_DIR}/)
  set(source ${PROJECT_SOURCE_DIR}/tests/fuzz/${ARG_SOURCE} ${ARG_PARTS})
  if(COLLAGE_FUZZ)
    if(ARG_MUTATOR)
      list(APPEND source ${PROJECT_SOURCE_DIR}/tests/fuzz/${ARG_MUTATOR})
    endif()
    collage_executable(fuzz_${name} SOURCES ${source} DEPENDS ${ARG_DEPENDS})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  collage_executable(replay_${name} SOURCES ${source} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp DEPENDS ${ARG_DEPENDS})
  add_test(NAME replay_${name} COMMAND replay_${name} tests/fuzz/corpus/${name} ${ARG_SEEDS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(replay_${name} PROPERTIES LABELS fast TIMEOUT 120)
endfunction()

collage_fuzz_target(model SOURCE model_text.cpp DEPENDS collage::sema SEEDS examples/digits/digits.ir tests/filetests/sema tests/filetests/bad/model)
collage_fuzz_target(rules SOURCE rules_text.cpp DEPENDS collage::rules_tool SEEDS rules tests/filetests/rules tests/filetests/bad/rules)
collage_fuzz_target(onnx SOURCE onnx_bytes.cpp MUTATOR onnx_mutator.cpp DEPENDS collage::import collage::passes collage::sema onnx_proto)
collage_fuzz_target(tensors SOURCE tensor_bytes.cpp DEPENDS collage::io collage::support SEEDS examples/digits)
collage_fuzz_target(placements SOURCE placement_text.cpp DEPENDS collage::sema PARTS compiler/request/placement_file.cpp)
collage_fuzz_target(certificates SOURCE certificate_text.cpp DEPENDS collage::certificate)
collage_fuzz_target(packages SOURCE package_bytes.cpp DEPENDS collage::package collage::runtime)
collage_fuzz_target(costs SOURCE cost_text.cpp DEPENDS collage::support nlohmann_json::nlohmann_json
  PARTS compiler/costs_tool/cost_files.cpp compiler/costs_tool/fields.cpp compiler/measure/measurement.cpp
    compiler/measure/printable.cpp)

# Files damaged from outside, through the programs themselves.
if(NOT COLLAGE_FUZZ)
  add_test(NAME mutated_files
    COMMAND ${Python3_EXECUTABLE} -B tests/fuzz/mutate_files.py $<TARGET_FILE_DIR:collagec> --count 12 --keep ${PROJECT_BINARY_DIR}/mutants
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(mutated_files PROPERTIES TIMEOUT 1200)
endif()
