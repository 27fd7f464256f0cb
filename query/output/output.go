// Package output prints the records that a query finds, in one of five formats:
//
//   - raw: the message as logged and a newline, nothing else
//   - text: the stored line, four columns separated by TABs
//   - json: one object a line with the keys time (RFC 3339, nine digits, UTC),
//     level ("-" where there is none), service, source, instance and message, and
//     message_base64 too where the message is not UTF-8
//   - csv: a line of names, then a line a record: time, level, service, source and message
//   - pretty: short local time, level, service, source and message, for people
//
// Where columns or fields of the message are named, only those are printed: as a
// JSON object, as CSV, and in the other formats with TABs between them.
//
// On a terminal, control bytes in a message are shown and not sent, in every
// format: \x1b stands for an escape, \r for a carriage return.
package output

import (
	"bufio"
	"fmt"
	"io"
	"sync"
	"time"

	"logstow/query"
	"logstow/record"
)

// The formats.
const (
	Raw    = "raw"
	Text   = "text"
	JSON   = "json"
	CSV    = "csv"
	Pretty = "pretty"
)

// Options say how to print.
type Options struct {
	// Format is one of the formats of this package.
	Format string
	// Fields are what to print: time, level, service, source, instance, message, or
	// names of fields of the message; none is all that the format has.
	Fields []string
	// Terminal says that the output is shown by a terminal.
	Terminal bool
	// Color colours levels in the pretty format.
	Color bool
	// Location is the zone of times in the pretty format; nil is UTC.
	Location *time.Location
	// Dates writes the date too in the pretty format.
	Dates bool
}

// Writer prints records. It buffers, and flushes what waits every 200 ms. Safe
// for concurrent use; Close must be called.
type Writer struct {
	opts   Options
	append func(dst []byte, m *query.Match) []byte

	mu   sync.Mutex
	w    *bufio.Writer
	line []byte
	err  error

	columns []column
	message []byte // scratch: the message as logged

	stop chan struct{}
	done sync.WaitGroup
}

// flushInterval is how long a record waits for others before it is written.
const flushInterval = 200 * time.Millisecond

// New starts a Writer to w. An unknown format is an error.
func New(w io.Writer, opts Options) (*Writer, error) {
	o := &Writer{opts: opts, w: bufio.NewWriterSize(w, 64<<10), stop: make(chan struct{})}
	if o.opts.Location == nil {
		o.opts.Location = time.UTC
	}
	switch opts.Format {
	case Raw:
		o.append = o.raw
	case Text:
		o.append = o.text
	case JSON:
		o.append = appendJSON
	case CSV:
		o.append = o.csv
		if len(opts.Fields) == 0 {
			opts.Fields = allColumns()
		}
	case Pretty:
		o.append = o.pretty
	default:
		return nil, fmt.Errorf("%q is not an output format (raw, text, json, csv or pretty)", opts.Format)
	}
	o.columns = newColumns(opts.Fields)
	switch {
	case opts.Format == CSV:
		_, o.err = o.w.Write(o.csvHead())
	case len(opts.Fields) > 0 && opts.Format == JSON:
		o.append = o.objects
	case len(opts.Fields) > 0:
		o.append = o.values
	}
	o.done.Go(o.flush)
	return o, nil
}

// Write prints a record. An error of the output is returned from then on.
func (o *Writer) Write(m query.Match) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	o.line = o.append(o.line[:0], &m)
	_, o.err = o.w.Write(o.line)
	return o.err
}

// Flush writes what waits.
func (o *Writer) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = o.w.Flush()
	}
	return o.err
}

// Close writes what waits and ends the Writer.
func (o *Writer) Close() error {
	close(o.stop)
	o.done.Wait()
	return o.Flush()
}

// flush writes what waits, again and again until the Writer is closed.
func (o *Writer) flush() {
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for {
		select {
		case <-o.stop:
			return
		case <-ticker.C:
		}
		_ = o.Flush() // the next Write says what fails
	}
}

func (o *Writer) raw(dst []byte, m *query.Match) []byte {
	at := len(dst)
	dst = record.AppendMessage(dst, m.Message())
	return append(o.shown(dst, at), '\n')
}

func (o *Writer) text(dst []byte, m *query.Match) []byte {
	at := len(dst)
	dst = append(dst, m.Line...)
	return append(o.shown(dst, at), '\n')
}

// shown makes dst[at:] visible for a terminal.
func (o *Writer) shown(dst []byte, at int) []byte {
	if !o.opts.Terminal || plain(dst[at:]) {
		return dst
	}
	message := append([]byte(nil), dst[at:]...)
	return appendVisible(dst[:at], message)
}

func (o *Writer) pretty(dst []byte, m *query.Match) []byte {
	layout := "15:04:05.000"
	if o.opts.Dates {
		layout = "2006-01-02 15:04:05.000"
	}
	dst = time.Unix(0, m.Time).In(o.opts.Location).AppendFormat(dst, layout)
	dst = append(dst, ' ')
	level := m.Level()
	if o.opts.Color {
		dst = append(dst, color(level)...)
	}
	dst = fmt.Appendf(dst, "%-5s", level)
	if o.opts.Color {
		dst = append(dst, "\x1b[0m"...)
	}
	dst = append(dst, ' ')
	dst = append(dst, m.Segment.Name.Service...)
	if source := m.Source(); string(source) != "-" {
		dst = append(dst, ' ')
		dst = appendVisible(dst, source)
	}
	dst = append(dst, ": "...)
	// The TAB that follows a newline as stored indents what continues.
	return append(appendVisible(dst, m.Message()), '\n')
}

// color is the escape sequence for a level.
func color(l record.Level) string {
	switch l {
	case record.Fatal:
		return "\x1b[1;35m"
	case record.Error:
		return "\x1b[31m"
	case record.Warn:
		return "\x1b[33m"
	case record.Info:
		return "\x1b[32m"
	}
	return "\x1b[2m"
}
