package multiline

import "bytes"

// isDiagnostic reports whether a line is a diagnostic of a compiler, behind which the line of the program may stand:
// main.c:3:15: error: expected ';'.
func isDiagnostic(line []byte) bool {
	const maxPlace = 256
	if bytes.IndexByte(line[:min(len(line), maxPlace)], ':') <= 0 {
		return false
	}
	i := word(line)
	if i == 0 || i == len(line) || line[i] != ':' {
		return false
	}
	for range 2 { // line and column
		n := i + 1
		for n < len(line) && isDigit(line[n]) {
			n++
		}
		if n == i+1 || n == len(line) || line[n] != ':' {
			break
		}
		i = n
	}
	for _, kind := range [...]string{": error: ", ": warning: ", ": fatal error: ", ": note: "} {
		if isDigit(line[i-1]) && hasPrefix(line[i:], kind) {
			return true
		}
	}
	return false
}

// isLabel reports whether a line begins a diagnostic of rustc, whose place is in the next line: error[E0308]: mismatched types.
func isLabel(line []byte) bool {
	for _, label := range [...]string{"error: ", "error[E", "warning: "} {
		if hasPrefix(line, label) {
			return true
		}
	}
	return false
}

// isGutter reports whether a line is the place of a diagnostic, or a line of the program behind its number and a bar:
// "  --> src/main.rs:3:18", "3 |     let x = 1;".
func isGutter(line []byte) bool {
	rest := bytes.TrimLeft(line, " ")
	if len(rest) == 0 || len(rest) == len(line) && !isDigit(line[0]) {
		return false
	}
	if isPlaceMark(rest) || len(rest) < len(line) && hasPrefix(rest, "= ") {
		return true
	}
	rest = bytes.TrimLeft(bytes.TrimLeft(rest, "0123456789"), " ")
	return hasPrefix(rest, "|") || hasPrefix(rest, boxSide)
}

// isPlaceMark reports whether a text is the place of a diagnostic of rustc or Gleam.
func isPlaceMark(text []byte) bool {
	return hasPrefix(text, "--> ") || hasPrefix(text, "::: ") || hasPrefix(text, "┌─ ")
}

// isCaret reports whether a line marks a place in the line above it: "        ^~~~".
func isCaret(line []byte) bool {
	return bytes.IndexByte(line, '^') >= 0 && len(bytes.Trim(line, " \t^~|-")) == 0
}

// afterDiagnostic decides about a line of a diagnostic.
func (s state) afterDiagnostic(text, line []byte) (action, state) {
	switch s {
	case label:
		if isPlaceMark(bytes.TrimLeft(line, " ")) {
			return joins, gutter
		}
		if isZigFrame(line) {
			return joins, zig
		}
		return afterPlain(text, line)
	case gutter:
		switch {
		case len(line) == 0: // behind each diagnostic
			return joins, closed
		case isGutter(line):
			return joins, gutter
		}
	case diagnostic:
		switch {
		case len(line) == 0, isRecord(line), isDiagnostic(line):
		case isGutter(line):
			return joins, caret
		case frame(line) != plain:
			return joins, frame(line)
		default:
			return undecided, source
		}
	case source:
		if isCaret(line) {
			return joins, caret
		}
	case caret:
		if len(line) > 0 && line[0] == ' ' {
			return joins, caret
		}
	}
	return begins, plain
}

// Beginnings of the lines of a box of Julia and of Terraform.
const (
	juliaTop, juliaBottom         = "┌ ", "└"
	terraformTop, terraformBottom = "╷", "╵"
)

// isMessageBox reports whether a line is the top of a box with a message of several lines.
func isMessageBox(line []byte) bool { return hasPrefix(line, juliaTop) || string(line) == terraformTop }

// afterBox decides about a line of such a box.
func afterBox(line []byte) (action, state) {
	switch {
	case hasPrefix(line, boxSide):
		return joins, messageBox
	case hasPrefix(line, juliaBottom), string(line) == terraformBottom:
		return joins, closed
	}
	return begins, plain
}
