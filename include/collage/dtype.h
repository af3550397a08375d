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
  COLLAGE_BOOL = 7 /* one byte, 0 or 1 */
};

#endif
