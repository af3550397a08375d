// SPDX-License-Identifier: Apache-2.0
// The targets that own precompiled headers need a source.
