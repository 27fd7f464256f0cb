package loki

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"logstow/logql/labels"
)

// writer writes JSON. Its methods return no errors: the flush at the end returns the first one.
type writer struct{ to *bufio.Writer }

func (w writer) text(s string) { _, _ = w.to.WriteString(s) }

func (w writer) bytes(b []byte) { _, _ = w.to.Write(b) }

// respond writes a JSON response, compressed if the client accepts it. After an error the caller must abort the response, which
// may be incomplete.
func (q *request) respond(write func(writer)) error {
	header := q.w.Header()
	header.Set("Content-Type", "application/json; charset=UTF-8")
	header.Add("Vary", "Accept-Encoding")
	var out io.Writer = q.w
	finish := func() error { return nil }
	if acceptsGzip(q.http) {
		header.Set("Content-Encoding", "gzip")
		zip, err := gzip.NewWriterLevel(q.w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		out, finish = zip, zip.Close
	}
	q.started = true
	buffered := bufio.NewWriterSize(out, 32<<10)
	write(writer{buffered})
	if err := buffered.Flush(); err != nil {
		return err
	}
	return finish()
}

// json responds with a value as JSON.
func (q *request) json(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return q.respond(func(w writer) { w.bytes(text.Bytes()) })
}

// success responds with data in the object that most endpoints use.
func (q *request) success(data any) error {
	return q.json(struct {
		Status string `json:"status"`
		Data   any    `json:"data"`
	}{"success", data})
}

// acceptsGzip reports whether Accept-Encoding contains gzip with a quality other than 0.
func acceptsGzip(r *http.Request) bool {
	for _, header := range r.Header.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(header, ",") {
			name, quality, _ := strings.Cut(strings.TrimSpace(item), ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				_, value, _ := strings.Cut(quality, "=")
				return strings.Trim(strings.TrimSpace(value), "0.") != "" || value == ""
			}
		}
	}
	return false
}

// appendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString[T string | []byte](dst []byte, s T) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := decodeRune(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += n
			continue
		}
		dst = append(append(dst, s[start:i]...), '\\')
		switch c {
		case '"', '\\':
			dst = append(dst, c)
		case '\n':
			dst = append(dst, 'n')
		case '\r':
			dst = append(dst, 'r')
		case '\t':
			dst = append(dst, 't')
		default:
			dst = append(dst, 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

func decodeRune[T string | []byte](s T) (rune, int) {
	var head [utf8.UTFMax]byte
	return utf8.DecodeRune(head[:copy(head[:], s)])
}

// appendLabels appends labels as a JSON object.
func appendLabels(dst []byte, ls labels.Labels) []byte {
	dst = append(dst, '{')
	for i := range ls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, ls[i].Name), ':')
		dst = appendString(dst, ls[i].Value)
	}
	return append(dst, '}')
}
