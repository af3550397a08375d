/* SPDX-License-Identifier: Apache-2.0
 * Marks what the shared libraries show. Everything else in them is hidden. */
#ifndef COLLAGE_EXPORT_H
#define COLLAGE_EXPORT_H

#define COLLAGE_API __attribute__((visibility("default")))

#endif
