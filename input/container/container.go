// Package container decodes the lines in which container runtimes wrap the output of an
// application: those of CRI (containerd, CRI-O),
//
//	2026-11-20T15:04:05.123456789Z stdout F message
//
// and those of Docker's json-file driver,
//
//	{"log":"message\n","stream":"stdout","time":"2026-11-20T15:04:05.123456789Z"}
//
// and parses pod, namespace and container from the paths of such files. It is stateless.
package container

import (
	"fmt"
	"strings"
)

// Format is the format in which the lines of a file are wrapped.
type Format uint8

// The formats. Their numbers are stored in positions and never change.
const (
	// Auto detects the format from a file's first lines; see [Detect].
	Auto Format = iota
	// None is the format of lines that are not wrapped.
	None
	// CRI is the format of the Kubernetes container runtime interface.
	CRI
	// Docker is the format of Docker's json-file driver.
	Docker
)

var formatNames = [...]string{Auto: "auto", None: "none", CRI: "cri", Docker: "docker"} //nolint:gochecknoglobals // a constant table

// String returns the name of the format, which [ParseFormat] accepts.
func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// ParseFormat parses "auto", "cri", "docker" or "none"; "" is auto.
func ParseFormat(s string) (Format, error) {
	if s == "" {
		return Auto, nil
	}
	for f, name := range formatNames {
		if s == name {
			return Format(f), nil
		}
	}
	return Auto, fmt.Errorf("container format %q: want one of %s", s, strings.Join(formatNames[:], ", "))
}

// Stream is the stream of an application that a line was written to.
type Stream uint8

// The streams. Their numbers are stored in positions and never change.
const (
	// NoStream is the stream of a line that is not wrapped.
	NoStream Stream = iota
	Stdout
	Stderr
)

// String returns "stdout", "stderr" or "".
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
	// Time is when the runtime received the line, in RFC 3339; see [Clock].
	Time []byte
	// Text is the application's output, without the newline at its end.
	Text []byte
	// Attrs is the JSON object of labels and variables that Docker's option for them adds; nil if there is none.
	Attrs []byte
	// Partial is set if the application's line continues in the next line of the stream.
	Partial bool
}

// Decode decodes a line of a format, without its newline. The result points into line, which Decode may change.
// If the line is malformed, Decode returns false and does not change it.
func Decode(f Format, line []byte) (Line, bool) {
	switch f {
	case CRI:
		return decodeCRI(line)
	case Docker:
		return decodeDocker(line)
	}
	return Line{}, false
}

// Detect detects the format of a line, without changing it. It returns None if it recognizes no format.
func Detect(line []byte) Format {
	if _, ok := decodeCRI(line); ok {
		return CRI
	}
	if _, ok := scanDocker(line); ok {
		return Docker
	}
	return None
}
