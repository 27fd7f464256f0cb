package container

import "bytes"

// decodeCRI decodes "<time> <stdout|stderr> <tags> <text>". The first tag is P for a partial line, and
// F for the last or only part. Further tags follow after colons. The space before an empty text may be
// missing.
func decodeCRI(line []byte) (Line, bool) {
	// The shortest time is 2006-01-02T15:04:05Z: most other lines end here.
	if len(line) < 20 || line[10] != 'T' || line[4] != '-' {
		return Line{}, false
	}
	end := bytes.IndexByte(line[:min(len(line), maxTime+1)], ' ')
	if end < 0 || !isTime(line[:end]) {
		return Line{}, false
	}
	l := Line{Time: line[:end]}
	rest := line[end+1:]
	if len(rest) < len("stdout F") || rest[len("stdout")] != ' ' {
		return Line{}, false
	}
	l.Stream = parseStream(rest[:len("stdout")])
	if l.Stream == NoStream {
		return Line{}, false
	}
	rest = rest[len("stdout "):]
	switch {
	case rest[0] == 'P':
		l.Partial = true
	case rest[0] != 'F':
		return Line{}, false
	}
	rest = rest[1:]
	if len(rest) > 0 && rest[0] == ':' {
		if i := bytes.IndexByte(rest, ' '); i >= 0 {
			rest = rest[i:]
		} else {
			rest = nil
		}
	}
	switch {
	case len(rest) == 0:
		l.Text = rest
	case rest[0] == ' ':
		l.Text = rest[1:]
	default:
		return Line{}, false
	}
	return l, true
}
