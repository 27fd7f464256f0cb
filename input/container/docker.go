package container

import "logstow/message"

// decodeDocker decodes {"log":…,"stream":…,"time":…}. It unescapes log in place.
func decodeDocker(line []byte) (Line, bool) {
	l, ok := scanDocker(line)
	if !ok {
		return Line{}, false
	}
	l.Text = message.UnescapeInPlace(l.Text)
	// Docker splits output at newlines, so a text without a newline is a partial line.
	if n := len(l.Text); n > 0 && l.Text[n-1] == '\n' {
		l.Text = l.Text[:n-1]
	} else {
		l.Partial = true
	}
	return l, true
}

// scanDocker finds the fields of an object, in any order and among others. All but attrs must exist, and nothing may
// follow the object. The text is still escaped. scanDocker changes nothing.
func scanDocker(line []byte) (l Line, ok bool) {
	if len(line) == 0 || line[0] != '{' {
		return l, false
	}
	members := message.Object(line)
	for name, value, ok := members.NextStrict(); ok; name, value, ok = members.NextStrict() {
		text, isText := message.Content(value)
		if !isText {
			if string(name) == "attrs" && value[0] == '{' {
				l.Attrs = value
			}
			continue
		}
		switch string(name) {
		case "log":
			l.Text = text
		case "stream":
			l.Stream = parseStream(text)
		case "time":
			l.Time = text
		}
	}
	end, ok := members.End()
	return l, ok && l.Text != nil && l.Stream != NoStream && isTime(l.Time) && len(message.TrimBlank(line[end:])) == 0
}
