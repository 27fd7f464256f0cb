#compdef logq
# Completion of logq for zsh: source <(logq completion zsh)
_logq() {
	local -a before found
	local cur=${words[CURRENT]}
	before=("${(@)words[2,CURRENT-1]}")
	[[ $cur == -* ]] && before+=("$cur")
	found=("${(@f)$(logq "${before[@]}" --generate-bash-completion 2>/dev/null)}")
	if [[ -n ${found[1]} ]]; then
		compadd -- "${found[@]}"
	else
		_files
	fi
}
(( $+functions[compdef] )) && compdef _logq logq
