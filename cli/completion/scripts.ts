/** Each asks `krt __complete` for the words that may stand next; where there are none the shell completes names of files. */
export const completionScripts: Readonly<Record<string, string>> = {
  bash: `# eval "$(krt completion bash)"
_krt_complete() {
  local word current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r word; do
    [[ $word == "$current"* ]] && COMPREPLY+=("$word")
  done < <(krt __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
}
complete -o default -F _krt_complete krt
`,
  zsh: `#compdef krt
# eval "$(krt completion zsh)", after compinit
_krt() {
  local -a found
  found=(\${(f)"$(krt __complete -- "\${(@)words[2,CURRENT-1]}" 2>/dev/null)"})
  (( \${#found} )) && compadd -a found || _files
}
compdef _krt krt
`,
  fish: `# krt completion fish | source
function __krt_complete
  set -l words (commandline -opc)
  set -l found (krt __complete -- $words[2..] 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c krt -f -a "(__krt_complete)"
`,
};

export const shells = Object.keys(completionScripts);
