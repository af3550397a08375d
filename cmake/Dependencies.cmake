# Every library that Collage uses, found where Debian puts it. The packages are listed in packages.txt.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(FLEX 2.6 REQUIRED)
find_package(BISON 3.8 REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Protobuf REQUIRED)  # before ONNX, whose targets name it
find_package(ONNX REQUIRED)
find_package(LLVM 19.1 REQUIRED CONFIG)
find_package(SQLite3 REQUIRED)

# Libraries that a build may lack.
list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
include(cmake/OptionalLibrary.cmake)
collage_optional_library(ONEDNN DNNL::dnnl "`runtime library \"onednn\"`" dnnl 2.6 CONFIG)
collage_optional_library(OPENBLAS OpenBLASOpenMP::OpenBLASOpenMP "`runtime library \"openblas\"`" OpenBLASOpenMP)
collage_optional_library(XNNPACK XNNPACK::XNNPACK "`runtime library \"xnnpack\"`" XNNPACK)
collage_optional_library(JPEG JPEG::JPEG "inputs from JPEG pictures" JPEG)
collage_optional_library(PNG PNG::PNG "inputs from PNG pictures" PNG)
collage_optional_library(REPORT "" "`--report`" ReportLibraries)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
