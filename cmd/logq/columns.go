package main

import (
	"strings"

	"logstow/query/output"
)

// cut is the beginning of a text of at most n columns, with a mark if there is more.
func cut(text string, n int) string {
	if output.Columns(text) <= n {
		return text
	}
	used := 1 // by the mark
	for i, r := range text {
		if used += output.Columns(string(r)); used > n {
			return text[:i] + "…"
		}
	}
	return text + "…"
}

// wrap breaks a text at spaces into lines of at most so many columns, unless a word is longer.
func wrap(text string, width int) (lines []string) {
	for width > 0 && output.Columns(text) > width {
		end, used := 0, 0
		for i, r := range text {
			if used += output.Columns(string(r)); used > width {
				end = i
				break
			}
		}
		at := strings.LastIndexByte(text[:end+1], ' ')
		if at < 0 {
			if at = strings.IndexByte(text, ' '); at < 0 {
				break
			}
		}
		lines, text = append(lines, text[:at]), text[at+1:]
	}
	return append(lines, text)
}
