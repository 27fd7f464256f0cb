# Completion of logq for fish: logq completion fish > ~/.config/fish/completions/logq.fish
function __logq_complete
	set -l words (commandline -opc)
	set -l cur (commandline -ct)
	set -e words[1]
	if string match -q -- '-*' "$cur"
		set -a words $cur
	end
	logq $words --generate-bash-completion 2>/dev/null
end
complete -c logq -a '(__logq_complete)'
