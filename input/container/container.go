// Package container decodes the lines in which container runtimes wrap what an
// application wrote: those of CRI (containerd, CRI-O),
//
//	2026-11-20T15:04:05.123456789Z stdout F message
//
// and those of Docker's json-file driver,
//
//	{"log":"message\n","stream":"stdout","time":"2026-11-20T15:04:05.123456789Z"}
//
// and reads pod, namespace and container from the paths of such files. It is
// pure: it holds nothing between lines.
package container

import (
	"fmt"
	"strings"
)

// Format is how the lines of a file are wrapped.
type Format uint8

// The formats. Their numbers are written into positions and never change.
const (
	// Auto decides by a file's first lines; see [Detect].
	Auto Format = iota
	// None is no wrapping: a line is what the application wrote.
	None
	// CRI is the format of the Kubernetes container runtime interface.
	CRI
	// Docker is that of Docker's json-file driver.
	Docker
)

var formatNames = [...]string{Auto: "auto", None: "none", CRI: "cri", Docker: "docker"} //nolint:gochecknoglobals // a constant table

// String is the format's name as [ParseFormat] takes it.
func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// ParseFormat reads "auto", "cri", "docker" or "none"; "" is auto.
func ParseFormat(s string) (Format, error) {
	if s == "" {
		return Auto, nil
	}
	for f, name := range formatNames {
		if s == name {
			return Format(f), nil
		}
	}
	return Auto, fmt.Errorf("container format %q: it must be one of %s", s, strings.Join(formatNames[:], ", "))
}

// Stream is which of its two outputs an application wrote to.
type Stream uint8

// The streams. Their numbers are written into positions and never change.
const (
	// NoStream is that of a line that is not wrapped.
	NoStream Stream = iota
	Stdout
	Stderr
)

// String is "stdout", "stderr" or "".
func (s Stream) String() string {
	switch s {
	case Stdout:
		return "stdout"
	case Stderr:
		return "stderr"
	}
	return ""
}

func parseStream(s []byte) Stream {
	switch string(s) {
	case "stdout":
		return Stdout
	case "stderr":
		return Stderr
	}
	return NoStream
}

// Line is a wrapped line without its wrapping.
type Line struct {
	Stream Stream
	// Time is when the runtime got it, as written: RFC 3339; see [Clock].
	Time []byte
	// Text is what the application wrote, without the newline at its end.
	Text []byte
	// Partial says that the application's line goes on in the stream's next one.
	Partial bool
}

// Decode reads a line, given without its newline, of a format. What it returns
// are parts of line, some of whose bytes may be changed. A line that is not
// wrapped as it should be is left as it is, and the answer is false.
func Decode(f Format, line []byte) (Line, bool) {
	switch f {
	case CRI:
		return decodeCRI(line)
	case Docker:
		return decodeDocker(line)
	}
	return Line{}, false
}

// Detect tells the format of a line, which it does not change: None where it is
// not wrapped in any that is known.
func Detect(line []byte) Format {
	if _, ok := decodeCRI(line); ok {
		return CRI
	}
	if _, ok := scanDocker(line); ok {
		return Docker
	}
	return None
}
