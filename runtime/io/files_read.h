// SPDX-License-Identifier: Apache-2.0
// Files that a program has opened to read, whatever led to them: the weights of a model, an included rule file. What it
// writes never takes their place (file_replacement.h).
//
// Programs ask for that when they start. A library does not: the process that it is part of may run a package and then
// write it anew.
#pragma once

#include <sys/stat.h>

#include <string>

namespace collage::runtime {

/// From now on this process notes what it opens to read.
void note_files_read();

/// Notes an open file by its place on its device, by which other names of it and links to it are known. Anything but a
/// regular file is left out: nothing takes its place.
void note_read(const struct stat& file, const std::string& path);
/// The same of a file that a library opens by its name.
void note_read(const std::string& path);

/// Returns the name by which the file was read first; empty: it was not read.
std::string name_when_read(const struct stat& file);

}  // namespace collage::runtime
