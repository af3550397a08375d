# One program per reader of foreign bytes. In the preset `fuzz` they are libFuzzer's (fuzz/README.md); everywhere else
# the same harness replays what is committed: seeds taken from the repository, and the inputs that once broke something.
#
#   collage_fuzz_target(NAME SOURCE FILE DEPENDS TARGET… SEEDS PATH…)   seeds are relative to the root
function(collage_fuzz_target name)
  cmake_parse_arguments(ARG "" "SOURCE" "DEPENDS;SEEDS" ${ARGN})
  set(source ${PROJECT_SOURCE_DIR}/tests/fuzz/${ARG_SOURCE})
  if(COLLAGE_FUZZ)
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
collage_fuzz_target(onnx SOURCE onnx_bytes.cpp DEPENDS collage::import collage::sema)
collage_fuzz_target(tensors SOURCE tensor_bytes.cpp DEPENDS collage::io collage::support SEEDS examples/digits)
