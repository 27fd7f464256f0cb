package input

import "bytes"

// TrimNewline is a line without one newline at its end, LF or CR LF.
func TrimNewline(line []byte) []byte {
	if rest, ok := bytes.CutSuffix(line, []byte("\n")); ok {
		return bytes.TrimSuffix(rest, []byte("\r"))
	}
	return line
}

// IsLineName reports whether senders put an application's line into a member of this name.
func IsLineName(name string) bool { return name == "log" || name == "message" || name == "body" }
