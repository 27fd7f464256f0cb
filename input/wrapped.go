package input

import "bytes"

// TrimNewline removes one newline, LF or CR LF, from the end of a line.
func TrimNewline(line []byte) []byte {
	if rest, ok := bytes.CutSuffix(line, []byte("\n")); ok {
		return bytes.TrimSuffix(rest, []byte("\r"))
	}
	return line
}

// IsLineName reports whether senders put an application's line into a member of this name.
func IsLineName(name string) bool { return name == "log" || name == "message" || name == "body" }
