" SPDX-License-Identifier: Apache-2.0
" Other programs have files of these endings, too: the first line with text decides.
function! s:Detect(start, type) abort
  for line in getline(1, 100)
    if line =~# '^\s*\(//.*\)\?$'
      continue
    endif
    if line =~# a:start
      let &filetype = a:type
    endif
    return
  endfor
endfunction

autocmd BufNewFile,BufRead *.rules call s:Detect('^\s*rules\s\+\d', 'collage_rules')
autocmd BufNewFile,BufRead *.ir call s:Detect('^\s*model\s*@', 'collage_model')
