// SPDX-License-Identifier: Apache-2.0
// PGM and PPM, damage, and how a picture becomes an input. PNG and JPEG have files of their own.
#include "tests/unit/runtime/io/picture_fixture.h"

namespace collage::runtime {
namespace {

TEST_F(PictureTest, PnmTextAndBinary) {
  auto text = read("P2 # a comment\n3 1\n# another\n15\n0 7\n15\n");
  ASSERT_TRUE(text.is_ok()) << text.message();
  EXPECT_EQ(text->shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(text->as<uint8_t>()[1], 119);
  EXPECT_EQ(text->as<uint8_t>()[2], 255);
  auto binary = read(std::string("P6\n1 2\n255\n\x01\x02\x03\x04\x05\xff", 17));
  ASSERT_TRUE(binary.is_ok()) << binary.message();
  EXPECT_EQ(binary->shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(binary->as<uint8_t>()[5], 255);
  auto wide = read(std::string("P5\n1 1\n65535\n\x80\x00", 15));
  ASSERT_TRUE(wide.is_ok()) << wide.message();
  EXPECT_EQ(wide->as<uint8_t>()[0], 128);
}

TEST_F(PictureTest, DamageIsAnError) {
  std::string pgm = "P5\n16 16\n255\n";
  pgm.append(256, 'x');
  expect_survives_damage(pgm, 0);
  for (const char* bad : {"", "P5", "P5\n", "P5 4", "P5 0 4 255 ", "P2 99999999 99999999 255 ", "P2 2 1 9 3 10",
                          "P5 99999999999999999999 1 255 ", "GIF89a", "P7 1 1 255 x", "P2 -1 1 255 1"}) {
    auto picture = read(bad);
    EXPECT_FALSE(picture.is_ok()) << bad;
  }
  EXPECT_FALSE(read_picture(path() + ".none").is_ok());
}

Tensor picture(const Shape& shape, const std::vector<uint8_t>& pixels) {
  Tensor tensor(DType::U8, shape);
  std::copy(pixels.begin(), pixels.end(), tensor.as<uint8_t>().begin());
  return tensor;
}

TEST(PictureToInputTest, ScalesAndKeepsPlace) {
  auto input = picture_to_input(picture({1, 2, 1}, {0, 255}), {1, 1, 1, 2}, 1.0 / 255);
  ASSERT_TRUE(input.is_ok()) << input.message();
  EXPECT_EQ(input->as<float>()[0], 0.0f);
  EXPECT_EQ(input->as<float>()[1], 1.0f);
}

TEST(PictureToInputTest, ColourBecomesPlanesOrGrey) {
  Tensor colour = picture({1, 2, 3}, {10, 20, 30, 40, 50, 60});
  auto planes = picture_to_input(colour, {3, 1, 2}, 1.0);
  ASSERT_TRUE(planes.is_ok()) << planes.message();
  auto values = planes->as<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{10, 40, 20, 50, 30, 60}));
  auto grey = picture_to_input(colour, {1, 2}, 1.0);
  ASSERT_TRUE(grey.is_ok());
  EXPECT_NEAR(grey->as<float>()[0], 0.299 * 10 + 0.587 * 20 + 0.114 * 30, 1e-4);
  auto spread = picture_to_input(picture({1, 1, 1}, {7}), {1, 3, 1, 1}, 1.0);
  ASSERT_TRUE(spread.is_ok());
  EXPECT_EQ(spread->as<float>()[2], 7.0f);
}

TEST(PictureToInputTest, ResizingKeepsFlatAreasAndBrightness) {
  std::vector<uint8_t> half(64, 0);
  for (size_t i = 0; i < 64; ++i) half[i] = i % 8 < 4 ? 0 : 200;
  auto small = picture_to_input(picture({8, 8, 1}, half), {1, 1, 2, 2}, 1.0);
  ASSERT_TRUE(small.is_ok());
  EXPECT_NEAR(small->as<float>()[0] + small->as<float>()[1], 200.0, 1e-3);
  EXPECT_LT(small->as<float>()[0], 50.0f);
  auto large = picture_to_input(picture({1, 2, 1}, {0, 100}), {1, 4}, 1.0);
  ASSERT_TRUE(large.is_ok());
  auto values = large->as<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{0, 25, 75, 100}));
}

TEST(PictureToInputTest, RefusesShapesThatAreNoPicture) {
  Tensor grey = picture({1, 1, 1}, {7});
  for (const Shape& shape :
       {Shape{}, Shape{4}, Shape{2, 1, 4, 4}, Shape{1, 2, 4, 4}, Shape{1, 1, 0, 4}, Shape{1, 1, 1, 4, 4}}) {
    EXPECT_FALSE(picture_to_input(grey, shape, 1.0).is_ok()) << to_string(shape);
  }
}

}  // namespace
}  // namespace collage::runtime
