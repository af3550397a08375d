" SPDX-License-Identifier: Apache-2.0
let b:did_ftplugin = 1

setlocal commentstring=//\ %s comments=:// expandtab shiftwidth=2 softtabstop=2
let b:undo_ftplugin = "setlocal commentstring< comments< expandtab< shiftwidth< softtabstop<"
