// Package shell writes command lines for a POSIX shell.
package shell

import "strings"

// plain are the bytes that a shell takes as they are.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-"

// Quote writes an argument, in single quotes if it needs quotes.
func Quote(arg string) string {
	if arg != "" && strings.Trim(arg, plain) == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
