/* SPDX-License-Identifier: Apache-2.0
 * Element types, in all of the C interfaces. */
#ifndef COLLAGE_DTYPE_H
#define COLLAGE_DTYPE_H

enum collage_dtype {
  COLLAGE_F32 = 0,
  COLLAGE_F64 = 1,
  COLLAGE_I8 = 2,
  COLLAGE_U8 = 3,
  COLLAGE_I16 = 4,
  COLLAGE_I32 = 5,
  COLLAGE_I64 = 6,
  COLLAGE_BOOL = 7, /* one byte, 0 or 1 */
  COLLAGE_U16 = 8,
  COLLAGE_U32 = 9,
  COLLAGE_U64 = 10,
  COLLAGE_F16 = 11,
  COLLAGE_BF16 = 12,
  COLLAGE_F8_E4M3 = 13, /* NaN but no infinity */
  COLLAGE_F8_E4M3FNUZ = 14,
  COLLAGE_F8_E5M2 = 15,
  COLLAGE_F8_E5M2FNUZ = 16,
  COLLAGE_F8_E8M0 = 17, /* powers of two */
  COLLAGE_F4 = 18,      /* one to a byte, as the four types below: the byte is the number, sign-extended */
  COLLAGE_I4 = 19,
  COLLAGE_U4 = 20,
  COLLAGE_I2 = 21,
  COLLAGE_U2 = 22
};

#endif
