package foreign

import (
	"bytes"
	"encoding/json"
	"html"
	"strconv"
	"time"

	"logstow/message"
	"logstow/record"
)

// fields returns the fields of a Storage Analytics log entry, in order. Version 1.0 ends with client-request-id.
// https://learn.microsoft.com/rest/api/storageservices/storage-analytics-log-format
func fields() []string {
	return []string{
		"version-number", "request-start-time", "operation-type", "request-status", "http-status-code",
		"end-to-end-latency-in-ms", "server-latency-in-ms", "authentication-type", "requester-account-name",
		"owner-account-name", "service-type", "request-url", "requested-object-key", "request-id-header",
		"operation-count", "requester-ip-address", "request-version-header", "request-header-size",
		"request-packet-size", "response-header-size", "response-packet-size", "request-content-length",
		"request-md5", "server-md5", "etag-identifier", "last-modified-time", "conditions-used",
		"user-agent-header", "referrer-header", "client-request-id",
		"user-object-id", "tenant-id", "application-id", "audience", "issuer", "user-principal-name",
		"reserved-field", "authorization-detail",
	}
}

const (
	timeField   = 1
	statusField = 4
	// minFields is the number of fields of version 1.0.
	minFields = 30
	// detailField is the field that contains JSON.
	detailField = 37
)

// isNumber reports whether a field is documented as a duration, a count, a code or a size.
func isNumber(i int) bool {
	switch i {
	case statusField, 5, 6, 14, 17, 18, 19, 20, 21:
		return true
	}
	return false
}

// analytics converts a line of Storage Analytics to a record whose message is a JSON object of the fields that are not empty; not ok for
// other lines. The level is ERROR for a status of 500 or more, WARN from 400, otherwise INFO.
func (s *scanner) analytics(line []byte) (r record.Record, ok bool) {
	if !bytes.HasPrefix(line, []byte("1.0;")) && !bytes.HasPrefix(line, []byte("2.0;")) {
		return r, false
	}
	var values [][]byte
	for rest := bytes.TrimSuffix(line, []byte("\r")); rest != nil && len(values) < maxFields; {
		var value []byte
		value, rest = cutField(rest)
		values = append(values, value)
	}
	if len(values) < minFields || len(values) == maxFields {
		return r, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(values[timeField]))
	if err != nil || at.Year() < 1990 || at.Year() > 2200 {
		return r, false
	}
	r = record.Record{Time: at.UnixNano(), Level: levelOf(values[statusField]), Source: "-"}
	s.object = s.appendObject(s.object[:0], values)
	r.Message = s.object
	return r, true
}

// maxFields exceeds the number of fields of any version.
const maxFields = 100

// cutField splits off the first field of a line; rest is nil after the last. A field in quotes ends at a quote before a semicolon or the
// end of the line.
func cutField(line []byte) (value, rest []byte) {
	if len(line) > 1 && line[0] == '"' {
		if end := bytes.Index(line[1:], []byte(`";`)); end >= 0 {
			return line[:end+2], line[end+3:]
		}
		if line[len(line)-1] == '"' {
			return line, nil
		}
	}
	end := bytes.IndexByte(line, ';')
	if end < 0 {
		return line, nil
	}
	return line[:end], line[end+1:]
}

func levelOf(status []byte) record.Level {
	code, err := strconv.Atoi(string(status))
	switch {
	case err != nil:
		return record.None
	case code >= 500:
		return record.Error
	case code >= 400:
		return record.Warn
	}
	return record.Info
}

// appendObject appends the fields as a JSON object.
func (s *scanner) appendObject(dst []byte, values [][]byte) []byte {
	dst = append(dst, '{')
	for i, value := range values {
		text := unquote(value)
		if text == "" {
			continue
		}
		name := "field-" + strconv.Itoa(i+1)
		if i < len(s.names) {
			name = s.names[i]
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), name...), `":`...)
		switch {
		case isNumber(i) && json.Valid([]byte(text)) && text[0] >= '0' && text[0] <= '9':
			dst = append(dst, text...)
		case i == detailField && json.Valid([]byte(text)):
			var compact bytes.Buffer
			_ = json.Compact(&compact, []byte(text)) // cannot fail: text is valid
			dst = append(dst, compact.Bytes()...)
		default:
			dst = message.AppendString(dst, text)
		}
	}
	return append(dst, '}')
}

// unquote returns the text of a field. In quotes it has HTML escapes.
func unquote(value []byte) string {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return string(value)
	}
	return html.UnescapeString(string(value[1 : len(value)-1]))
}
