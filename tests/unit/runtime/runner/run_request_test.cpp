// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/run_request.h"

#include <gtest/gtest.h>

#include <set>

namespace collage::runner {
namespace {

using Names = std::set<std::string>;

struct Entry {
  std::string text;
  Names names;
  std::string name, file;
};

TEST(NamedFiles, AreSplitBehindTheLongestKnownName) {
  const Entry entries[] = {
      {"x=x.npy", {"x"}, "x", "x.npy"},
      {"x.npy", {"x"}, "", "x.npy"},
      {"x=x.npy", {}, "x", "x.npy"},
      {"a=b=c.npy", {"a=b"}, "a=b", "c.npy"},
      {"a=b=c.npy", {"a", "a=b"}, "a=b", "c.npy"},
      {"a=b=c.npy", {"a"}, "a", "b=c.npy"},
      {"a=b=c.npy", {"b"}, "a", "b=c.npy"},
      {"out=1,2=y.npy", {"out=1,2"}, "out=1,2", "y.npy"},
      {"a==c.npy", {"a="}, "a=", "c.npy"},
      {"a==c.npy", {"a"}, "a", "=c.npy"},
      {"=x=x.npy", {"=x"}, "=x", "x.npy"},
      {"a=b=", {"a=b"}, "a=b", ""},
      {"", {"x"}, "", ""},
  };
  for (const Entry& entry : entries) {
    const NamedFile named =
        named_by(parse_named_file(entry.text), [&](const std::string& name) { return entry.names.contains(name); });
    EXPECT_EQ(named.name, entry.name) << entry.text;
    EXPECT_EQ(named.file, entry.file) << entry.text;
  }
}

TEST(NamedFiles, MayMeanEachFileBehindAnEqualsSign) {
  using Files = std::vector<std::string>;
  EXPECT_EQ(files_meant(parse_named_file("x=x.npy")), Files{"x.npy"});
  EXPECT_EQ(files_meant(parse_named_file("x.npy")), Files{"x.npy"});
  EXPECT_EQ(files_meant(parse_named_file("a=b=c=d.npy")), (Files{"b=c=d.npy", "c=d.npy", "d.npy"}));
}

}  // namespace
}  // namespace collage::runner
