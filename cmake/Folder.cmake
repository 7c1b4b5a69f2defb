# One folder of nereus/ is one target, nereus::<folder>; one folder of tests/ is one test program.

add_library(nereus_flags INTERFACE)
target_compile_options(nereus_flags INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual
  $<$<BOOL:${NEREUS_WERROR}>:-Werror>)
if(NEREUS_SANITIZE)
  target_compile_options(nereus_flags INTERFACE -fsanitize=${NEREUS_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(nereus_flags INTERFACE -fsanitize=${NEREUS_SANITIZE})
endif()

# nereus_folder(NAME SOURCES a.cpp ... DEPENDS base ... LINK fmt::fmt ... [TORCH])
function(nereus_folder name)
  cmake_parse_arguments(arg "TORCH" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  list(TRANSFORM arg_DEPENDS PREPEND nereus::)
  if(arg_SOURCES)
    add_library(nereus_${name} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(nereus_${name} PRIVATE nereus_flags)
  else()
    add_library(nereus_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(nereus::${name} ALIAS nereus_${name})
  target_include_directories(nereus_${name} ${scope} "${CMAKE_SOURCE_DIR}")
  target_link_libraries(nereus_${name} ${scope} ${arg_DEPENDS} ${arg_LINK})
  if(arg_TORCH)
    target_link_libraries(nereus_${name} ${scope} nereus::torch)
  endif()
endfunction()

# nereus_test(NAME SOURCES a_test.cpp ... DEPENDS base ... [LABELS slow])
function(nereus_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT arg_SOURCES)
    return()
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS fast)
  endif()
  list(TRANSFORM arg_DEPENDS PREPEND nereus::)
  add_executable(${name}_test ${arg_SOURCES})
  target_link_libraries(${name}_test PRIVATE nereus_flags ${arg_DEPENDS} GTest::gmock GTest::gtest_main)
  # Tests are many and run once: a third of their compile time is saved.
  target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O1>)
  target_compile_definitions(${name}_test PRIVATE
    NEREUS_SOURCE_DIR="${CMAKE_SOURCE_DIR}" NEREUS_BINARY_DIR="${CMAKE_BINARY_DIR}")
  # One ctest entry a program: starting a program that links LibTorch costs more than most tests.
  add_test(NAME ${name} COMMAND ${name}_test)
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600)
endfunction()
