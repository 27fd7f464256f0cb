package loki

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
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
