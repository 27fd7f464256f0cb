# Completion of logq for bash: source <(logq completion bash)
_logq() {
	# The line is cut at blanks, so that '=' and ':' do not part words; nothing in it is run.
	local line=${COMP_LINE:0:COMP_POINT} cur= found
	local -a words
	read -ra words <<<"$line"
	if [[ $line != *[[:blank:]] ]]; then
		cur=${words[${#words[@]} - 1]}
		[[ $cur == -* ]] || unset 'words[${#words[@]}-1]'
	fi
	found=$(logq "${words[@]:1}" --generate-bash-completion 2>/dev/null)
	local IFS=$'\n'
	COMPREPLY=($(compgen -W "$found" -- "$cur"))
	# Where '=' parts words, only what follows it is replaced.
	if [[ $cur == *=* && $COMP_WORDBREAKS == *=* ]]; then
		COMPREPLY=("${COMPREPLY[@]#"${cur%%=*}="}")
	fi
}
complete -o bashdefault -o default -F _logq logq
