" SPDX-License-Identifier: Apache-2.0
" No `b:did_ftplugin` keeps it from running: Vim takes *.rules for another language first.
let b:did_ftplugin = 1

setlocal commentstring=//\ %s comments=:// expandtab shiftwidth=2 softtabstop=2
let b:undo_ftplugin = "setlocal commentstring< comments< expandtab< shiftwidth< softtabstop<"
