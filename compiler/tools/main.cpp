// SPDX-License-Identifier: Apache-2.0
// The programs whose code is in libcollage_compiler: CMakeLists.txt. COLLAGE_ENTRY is the name of their function there.

extern "C" int COLLAGE_ENTRY(int argc, char** argv);

int main(int argc, char** argv) {
  return COLLAGE_ENTRY(argc, argv);
}
