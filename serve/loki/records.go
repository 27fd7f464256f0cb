package loki

import (
	"bufio"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/message"
)

// Formats of records.
const (
	formatNDJSON = "ndjson"
	formatRaw    = "raw"
)

// records is /logstow/api/v1/records: the records of a log query in order of time, one per line, without a maximum. They are sent as
// they are found. In contrast, Loki's query_range groups records by stream, returns at most 5,000, and replaces invalid UTF-8.
func (q *request) records() error {
	q.bounds(querySince)
	log, out := q.logQuery(), q.recordWriter()
	p := engine.LogParams{
		From:     q.from,
		To:       q.to,
		Newest:   q.backward(),
		Limit:    q.number("limit", 0),
		Unparsed: out.format == formatRaw,
		Fields:   true,
	}
	if q.bad != nil {
		return q.bad
	}
	if err := q.engine().Logs(q.ctx, log, p, out.add); err != nil {
		return err
	}
	return out.close()
}

// recordWriter returns the writer that the parameters format, max_line and download specify.
func (q *request) recordWriter() *recordWriter {
	w := &recordWriter{q: q, format: q.get("format"), repeats: q.repeats()}
	kind, extension := "application/x-ndjson", ".ndjson"
	switch w.format {
	case "", formatNDJSON:
		w.format = formatNDJSON
	case formatRaw:
		kind, extension = "text/plain; charset=utf-8", ".log"
	default:
		q.reject(badRequest("invalid format %q: it is %s or %s", w.format, formatNDJSON, formatRaw))
	}
	w.maxLine = q.number("max_line", 0)
	header := q.w.Header()
	w.begin = func() {
		header.Set("Content-Type", kind)
		if q.get("download") != "" {
			name := "logs-" + time.Unix(0, q.from).UTC().Format("20060102T150405Z") + extension
			header.Set("Content-Disposition", `attachment; filename="`+name+`"`)
		}
		q.started = true
		w.to = bufio.NewWriterSize(q.w, 32<<10)
		w.sent = q.api.opts.Now()
	}
	return w
}

// flushInterval is the time after which buffered records are sent.
const flushInterval = 200 * time.Millisecond

// recordWriter writes records as lines. The first line begins the response, so an earlier error can still set the status.
type recordWriter struct {
	q       *request
	format  string
	maxLine int // bytes; 0 is no limit
	repeats *repeats
	begin   func()
	to      *bufio.Writer // nil before the response begins
	sent    time.Time
	buf     []byte
}

// add writes a record.
func (w *recordWriter) add(e *engine.Entry) error {
	if w.to == nil {
		w.begin()
	}
	w.buf = w.buf[:0]
	if w.format == formatRaw {
		w.buf = append(append(w.buf, e.Line...), '\n')
	} else {
		w.buf = w.appendRecord(w.buf, e)
	}
	if _, err := w.to.Write(w.buf); err != nil {
		return err
	}
	if now := w.q.api.opts.Now(); now.Sub(w.sent) > flushInterval {
		w.sent = now
		if err := w.to.Flush(); err != nil {
			return err
		}
		return http.NewResponseController(w.q.w).Flush()
	}
	return nil
}

// appendRecord appends a record as a JSON object with a newline. If the line is longer than maxLine, it is truncated and "bytes" is
// its length. If it contains invalid UTF-8, which is replaced by U+FFFD, "invalid" is true.
func (w *recordWriter) appendRecord(dst []byte, e *engine.Entry) []byte {
	dst = append(dst, `{"time":"`...)
	dst = time.Unix(0, e.Time).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000000000Z07:00")
	dst = append(dst, `","labels":`...)
	dst = e.Stream.AppendJSON(dst)
	if source := e.Metadata.Get(labels.Source); source != "" {
		dst = message.AppendString(append(dst, `,"source":`...), source)
	}
	if len(e.Fields) > 0 {
		dst = e.Fields.AppendJSON(append(dst, `,"fields":`...))
	}
	if e.Text {
		dst = append(dst, `,"text":true`...)
	}
	if len(e.Parsed) > 0 {
		dst = e.Parsed.AppendJSON(append(dst, `,"parsed":`...))
	}
	dst = w.repeats.append(dst, ",", e)
	line := e.Line
	if w.maxLine > 0 && len(line) > w.maxLine {
		dst = strconv.AppendInt(append(dst, `,"bytes":`...), int64(len(line)), 10)
		line = cutUTF8(line, w.maxLine)
	}
	if !utf8.Valid(line) {
		dst = append(dst, `,"invalid":true`...)
	}
	return append(message.AppendString(append(dst, `,"line":`...), line), '}', '\n')
}

// cutUTF8 truncates a line to at most n bytes, at the start of a character.
func cutUTF8(line []byte, n int) []byte {
	for i := n; i > n-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(line[i]) {
			return line[:i]
		}
	}
	return line[:n]
}

// close sends the buffered records and begins the response if there were none.
func (w *recordWriter) close() error {
	if w.to == nil {
		w.begin()
	}
	return w.to.Flush()
}
