"""Scripts that let shells ask ``rag-agent __complete`` what may come next.

The program is called with the words before the cursor and then the word at the cursor behind an
equals sign (some shells drop empty words). It prints one candidate a line, its description behind
a tab, and the line ``:files`` where the shell's own file names belong.
"""

from __future__ import annotations

ASK = "__complete"
FILES = ":files"

_BASH = r"""# eval "$(rag-agent completion bash)"      (for good: add the line to ~/.bashrc)
_rag_agent() {
    local current="${COMP_WORDS[COMP_CWORD]}" line name
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == ":files" ]]; then
            compopt -o filenames 2>/dev/null
            while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen -f -- "$current")
        else
            COMPREPLY+=("${line%%$'\t'*}")
        fi
    done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" \
        "=$current" 2>/dev/null)
}
complete -F _rag_agent rag-agent
"""

_ZSH = r"""#compdef rag-agent
# eval "$(rag-agent completion zsh)"      (for good: add the line to ~/.zshrc, after compinit)
_rag_agent() {
    local line tab=$'\t' files=0 result=1
    local -a found candidates
    found=("${(@f)$("${words[1]/#\~/$HOME}" __complete "${(@)words[2,CURRENT-1]}" \
        "=${words[CURRENT]}" 2>/dev/null)}")
    for line in "${found[@]}"; do
        if [[ $line == ":files" ]]; then
            files=1
        elif [[ -n $line ]]; then
            candidates+=("${${line%%$tab*}//:/\\:}:${line#*$tab}")
        fi
    done
    (( files )) && _files && result=0
    (( $#candidates )) && _describe -t values 'rag-agent' candidates && result=0
    return result
}
if [[ $funcstack[1] == _rag_agent ]]; then _rag_agent "$@"; else compdef _rag_agent rag-agent; fi
"""

_FISH = r"""# rag-agent completion fish | source
# (for good: rag-agent completion fish > ~/.config/fish/completions/rag-agent.fish)
function __rag_agent_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    for line in ($before[1] __complete $before[2..-1] "=$current" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c rag-agent -f -a '(__rag_agent_complete)'
"""

_POWERSHELL = r"""# rag-agent completion powershell | Out-String | Invoke-Expression
# (for good: add the line to $PROFILE)
Register-ArgumentCompleter -Native -CommandName rag-agent -ScriptBlock {
    param($current, $command, $position)
    $before = @($command.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $position } | ForEach-Object { $_.ToString() })
    # Where nothing is returned, PowerShell completes file names by itself.
    & $command.CommandElements[0].ToString() __complete @before "=$current" 2>$null |
        Where-Object { $_ -ne ':files' } | ForEach-Object {
            $word, $help = $_ -split "`t", 2
            if (-not $help) { $help = $word }
            [System.Management.Automation.CompletionResult]::new(
                $word, $word, 'ParameterValue', $help)
        }
}
"""

SHELLS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH, "powershell": _POWERSHELL}
"""The script of each shell, by its name."""
