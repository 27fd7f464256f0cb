package manual

import (
	"fmt"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
)

// Completion is the script for bash, zsh, fish or powershell that completes commands, flags
// and files; "" for another shell.
func Completion(app *ucli.App, shell string) string {
	switch shell {
	case "bash":
		return bash(app)
	case "zsh":
		return fmt.Sprintf("#compdef %s\nautoload -Uz bashcompinit && bashcompinit\n%s", app.Name, bash(app))
	case "fish":
		return fish(app)
	case "powershell":
		return powerShell(app)
	}
	return ""
}

func bash(app *ucli.App) string {
	var b strings.Builder
	name := "_" + strings.ReplaceAll(app.Name, "-", "_")
	fmt.Fprintf(&b, "# Completion of %s for bash.\n%s() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} words=\n", app.Name, name)
	var commands []string
	fmt.Fprintf(&b, "\tCOMPREPLY=()\n\tcase ${COMP_WORDS[1]} in\n")
	for _, c := range app.VisibleCommands() {
		commands = append(commands, c.Name)
		fmt.Fprintf(&b, "\t%s) words='%s' ;;\n", c.Name, strings.Join(flagWords(c), " "))
	}
	fmt.Fprintf(&b, "\tesac\n\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W '%s --help --version' -- \"$cur\"))\n", strings.Join(commands, " "))
	b.WriteString("\telif [[ $cur == -* ]]; then\n\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n")
	b.WriteString("\telse\n\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n\tfi\n}\n")
	fmt.Fprintf(&b, "complete -o filenames -F %s %s\n", name, app.Name)
	return b.String()
}

// flagWords are a command's flags as they are typed.
func flagWords(c *ucli.Command) (words []string) {
	for _, f := range c.VisibleFlags() {
		for _, name := range f.Names() {
			words = append(words, cli.Dashed(name))
		}
	}
	return words
}

func fish(app *ucli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion of %s for fish.\n", app.Name)
	for _, c := range app.VisibleCommands() {
		fmt.Fprintf(&b, "complete -c %s -f -n __fish_use_subcommand -a %s -d %s\n", app.Name, c.Name, singleQuote(c.Usage))
		for _, f := range c.VisibleFlags() {
			d, ok := f.(ucli.DocGenerationFlag)
			if !ok {
				continue
			}
			_, usage := cli.Placeholder(d.GetUsage())
			fmt.Fprintf(&b, "complete -c %s -n '__fish_seen_subcommand_from %s'", app.Name, c.Name)
			for _, name := range f.Names() {
				if len(name) == 1 {
					b.WriteString(" -s " + name)
				} else {
					b.WriteString(" -l " + name)
				}
			}
			if d.TakesValue() {
				b.WriteString(" -r")
			}
			b.WriteString(" -d " + singleQuote(usage) + "\n")
		}
	}
	return b.String()
}

func powerShell(app *ucli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion of %s for PowerShell.\nRegister-ArgumentCompleter -Native -CommandName %s -ScriptBlock {\n\tparam($word, $line, $cursor)\n", app.Name, app.Name)
	fmt.Fprintf(&b, "\t$flags = [ordered]@{\n")
	for _, c := range app.VisibleCommands() {
		var flags []string
		for _, f := range flagWords(c) {
			flags = append(flags, "'"+f+"'")
		}
		fmt.Fprintf(&b, "\t\t'%s' = @(%s)\n", c.Name, strings.Join(flags, ", "))
	}
	// Words before the one to complete; without candidates PowerShell completes files.
	b.WriteString(`	}
	$before = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.ToString() })
	if ($before.Count -le 1) { $found = @($flags.Keys) + '--help', '--version' }
	elseif ($word -like '-*') { $found = $flags[$before[1]] }
	else { return }
	$found | Where-Object { $_ -clike "$word*" } | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}
`)
	return b.String()
}

// singleQuote quotes a word for fish.
func singleQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
