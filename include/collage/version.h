/* SPDX-License-Identifier: Apache-2.0
 * The version of Collage: the one place, read by CMake too. README.md says what each version promises. */
#ifndef COLLAGE_VERSION_H
#define COLLAGE_VERSION_H

#define COLLAGE_VERSION "0.1.0"

/* Version of the binary interface in compiler.h and runtime.h: changes with every change that a compiled program would
 * notice. It is the number in the names of the shared libraries (libcollage_runtime.so.1), and programs hand it over
 * when they start. */
#define COLLAGE_ABI_VERSION 1

#endif
