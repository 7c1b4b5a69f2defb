# LibTorch from the PyPI wheel as one target. The wheel's own package file demands a CUDA toolkit,
# hence a target of our own; libtorch_cuda.so is loaded at run time where a CUDA device is asked for.
set(torch_root "${NEREUS_DEPS}/libtorch")
if(NOT EXISTS "${torch_root}/torch/lib/libtorch_cpu.so")
  message(FATAL_ERROR "LibTorch is not in ${torch_root}: run scripts/setup, "
    "or configure with -DNEREUS_TORCH=OFF for the folders that need none")
endif()
add_library(nereus_torch INTERFACE)
add_library(nereus::torch ALIAS nereus_torch)
# The wheel brings headers of other versions of fmt and oneDNN along: the system's come first.
target_compile_options(nereus_torch INTERFACE
  "SHELL:-idirafter ${torch_root}/torch/include"
  "SHELL:-idirafter ${torch_root}/torch/include/torch/csrc/api/include")
target_compile_definitions(nereus_torch INTERFACE AT_PER_OPERATOR_HEADERS)
target_link_libraries(nereus_torch INTERFACE
  "${torch_root}/torch/lib/libtorch_cpu.so" "${torch_root}/torch/lib/libc10.so")
# The search paths are given by hand: the wheel's libgomp.so.1 is then the one OpenMP runtime of the process, and
# CMake does not warn about it at each program.
set(CMAKE_SKIP_BUILD_RPATH ON)
target_link_options(nereus_torch INTERFACE
  "-Wl,-rpath,${torch_root}/torch/lib" "-Wl,-rpath,${torch_root}/nvidia/cu13/lib"
  "-Wl,-rpath-link,${torch_root}/torch/lib" "-Wl,-rpath-link,${torch_root}/nvidia/cu13/lib")
