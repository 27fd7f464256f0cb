// Package output prints the records that a query finds, in one of these formats:
//
//   - raw: the message as logged and a newline, nothing else
//   - text: time, level, source and message as stored, separated by TABs, followed by a TAB and the attributes as JSON if there are any
//   - json: one object per line with the keys time (RFC 3339, nine digits, UTC),
//     level ("-" if there is none), service, source, instance and message, and
//     also message_base64 if the message is not UTF-8, and attributes, an object, if there are any: a string if they are invalid
//   - flat: as json, with the attributes and the fields of the message beside the others; see [Flat]
//   - csv: a line of names, then a line for each record: time, level, service, source and message
//   - parquet: a file of Apache Parquet; see [Parquet]
//   - pretty: short local time, level, service, source and message, for people; JSON and logfmt are printed as text and
//     fields, see [Pretty]
//   - template: the result of a template for the record, and a newline; see [CompileTemplate]
//
// If columns or fields of the message are named, only those are printed: as a JSON object, as CSV, and in the other formats
// separated by TABs. Parquet has them in addition to its own.
//
// On a terminal, and with colours, control bytes in a message are escaped in every format: \x1b is an escape, \r a carriage return.
// So only this package can set colours.
//
// If records around matches are printed too, a line "--" separates records that are not adjacent in their source (all formats but
// json, flat, csv and parquet), and records that are not matches are marked: "-" instead of ":" before the message (pretty),
// "context":true (json), or true in an additional column context, which is false for matches (csv, parquet). Late records of a
// followed query are marked in the same way: "(late)", "late":true, a column late.
package output

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"logstow/message/parse"
	"logstow/query"
	"logstow/query/aggregate"
	"logstow/query/parquet"
	"logstow/record"
	"logstow/record/recognize"
)

// The formats.
const (
	Raw  = "raw"
	Text = "text"
	JSON = "json"
	CSV  = "csv"
	// Flat is the JSON object of the format JSON, followed by the attributes under the names by which they are found, and the
	// fields of the message, in the place of the object with the attributes. Fields of nested objects have names with dots; arrays
	// and deeper objects are JSON. If names are equal, the first one is printed, so attributes precede fields of the message. One with
	// the name of a key of the format gets the prefix "attribute." or "message.".
	Flat = "flat"
	// Pretty prints a message that is a JSON object, ends with one after a blank, or consists of logfmt pairs, as its text
	// followed by name=value of the other members in their order. The text is the first existing member of message, msg,
	// short_message, log, body, event and @m. A line of JSON or logfmt that the message wraps, as [parse.LineInside] finds
	// it, is split too, but not a line that this one wraps. Members that only repeat the time or the level of the record are
	// omitted. Values of several lines, and the other lines of a text, are indented on the next lines. Other messages are
	// printed as logged, and so are all messages if the parser of the segment is not auto, but without a time and level at the start of
	// a text that only repeat those of the record. Newlines at the end of a text, and carriage returns at the ends of lines, are
	// omitted. The attributes of the record and of its stream follow the fields. Those of its resource and scope are not printed.
	Pretty   = "pretty"
	Template = "template"
	// Parquet is a file, which can be read after the Writer is closed. Its columns are named in the options, by default the six fixed
	// fields, and attributes, a JSON object. time is a TIMESTAMP in nanoseconds, the others are STRING. No level, and a field that is
	// missing or null, are NULL; bytes that are not UTF-8 are U+FFFD.
	Parquet = "parquet"
)

// Options are the settings of a [Writer].
type Options struct {
	// Format is a format of this package.
	Format string
	// Fields are the columns to print: time, level, service, source, instance, message, or names of fields of the message;
	// none is the default of the format.
	Fields []string
	// Parser finds the fields of messages of a segment; nil is auto for all.
	Parser func(*query.Segment) *parse.Parser
	// Terminal is set if the output is shown by a terminal.
	Terminal bool
	// Color enables colours of levels in the pretty format, and highlighting in the messages of the raw, text and pretty
	// formats.
	Color bool
	// Highlight appends the places to highlight in a message as logged, in order and disjoint; see [query.Query.Highlight].
	// It may be nil.
	Highlight func(dst [][2]int, message []byte) [][2]int
	// Around is set if records around matches are printed too, and Late if WriteLate is
	// used: CSV has columns for that then.
	Around, Late bool
	// Location is the time zone of the pretty format, Zone that of other formats; nil is UTC.
	Location, Zone *time.Location
	// Width is the number of columns of lines of the pretty format. In longer lines marks are in the place of the middle of long
	// values and texts, and of what does not fit even so; 0 prints lines whole.
	Width int
	// Indent prints the objects of the formats json and flat over several lines, indented by two blanks.
	Indent bool
	// Template is the template of the template format.
	Template *RecordTemplate
	// Dates writes the dates of all records in the pretty format. Without it, dates are
	// written from the first record on that is not of the day of Today; a zero Today is
	// the day of every record.
	Dates bool
	Today time.Time
}

// Writer prints records. It buffers output and flushes it every 200 ms. Safe for concurrent use. The caller must call
// Close.
type Writer struct {
	opts   Options
	append func(dst []byte, m *query.Match) []byte

	mu   sync.Mutex
	w    *bufio.Writer
	line []byte
	err  error // of the output, or of the template

	day     [2]time.Time // the start and end of Today; records in it have no date
	match   query.Match  // the record being printed, which would be allocated otherwise
	late    bool         // the record is late
	written bool         // one was printed
	columns []column
	// fields are the names of the columns that are fields of the message; splitter finds them in the current message.
	fields    []string
	splitters parse.Splitters
	splitter  *parse.Splitter
	found     []bool         // by index in fields: whether a record has the field
	marked    []string       // columns of CSV and Parquet that mark some records
	message   record.Message // scratch: the message as logged
	places    [][2]int       // scratch: the places to highlight
	scratch   []byte
	formatted bytes.Buffer // scratch: JSON without or with blanks

	canvas   canvas // of pretty
	fitted   []byte // scratch: lines that fit the terminal
	parts    parts
	services map[string]string // colours
	taken    map[int]bool      // of the colours of services
	flat     flatNames
	rows     *parquet.Writer // of Parquet
	cells    []aggregate.Value

	stop chan struct{}
	done sync.WaitGroup
}

// flushInterval is the maximum time for which a record is buffered.
const flushInterval = 200 * time.Millisecond

// New starts a Writer to w. An unknown format is an error, and so are names that are no columns.
func New(w io.Writer, opts Options) (*Writer, error) {
	if err := Check(opts.Format); err != nil {
		return nil, err
	}
	opts.Color = opts.Color && (opts.Format == Raw || opts.Format == Text || opts.Format == Pretty) && len(opts.Fields) == 0
	opts.Terminal = opts.Terminal || opts.Color
	if !opts.Color {
		opts.Highlight = nil
	}
	opts.Location, opts.Zone = cmp.Or(opts.Location, time.UTC), cmp.Or(opts.Zone, time.UTC)
	if opts.Parser == nil {
		auto := parse.Auto()
		opts.Parser = func(*query.Segment) *parse.Parser { return auto }
	}
	o := &Writer{opts: opts, w: bufio.NewWriterSize(w, 64<<10), stop: make(chan struct{})}
	if !opts.Today.IsZero() {
		year, month, day := opts.Today.In(opts.Location).Date()
		o.day = [2]time.Time{time.Date(year, month, day, 0, 0, 0, 0, opts.Location), time.Date(year, month, day+1, 0, 0, 0, 0, opts.Location)}
	}
	o.append = map[string]func([]byte, *query.Match) []byte{
		Raw:      o.raw,
		Text:     o.text,
		JSON:     o.json,
		Flat:     o.appendFlatObject,
		CSV:      o.csv,
		Parquet:  o.row,
		Pretty:   o.pretty,
		Template: o.template,
	}[opts.Format]
	named := len(opts.Fields) > 0
	switch {
	case opts.Format == CSV && !named:
		opts.Fields = []string{"time", "level", "service", "source", "message"}
	case opts.Format == Parquet && !named:
		opts.Fields = []string{"time", "level", "service", "source", "instance", "message"}
	case opts.Format == Template && opts.Template == nil:
		return nil, errors.New("the format template needs a template")
	case opts.Format == Template && named:
		return nil, errors.New("a template names its fields itself")
	}
	var err error
	if o.columns, o.fields, err = newColumns(opts.Fields); err != nil {
		return nil, err
	}
	switch {
	case opts.Format == Template:
		opts.Template.begin(o)
	case opts.Format == CSV:
		o.marked = marks(opts)
		_, o.err = o.w.Write(o.csvHead())
	case opts.Format == Parquet:
		if !named {
			o.columns = append(o.columns, column{name: attributesName, attributes: true})
		}
		o.marked = marks(opts)
		o.rows = o.newRows(o.w)
	case named && (opts.Format == JSON || opts.Format == Flat):
		o.append = o.objects
	case named:
		o.append = o.values
	case opts.Format == Pretty:
		o.canvas = canvas{color: opts.Color}
		o.parts.recognizer = recognize.New(recognize.Options{})
		o.services, o.taken = map[string]string{}, map[int]bool{}
	}
	if opts.Indent && (opts.Format == JSON || opts.Format == Flat) {
		o.append = o.indented(o.append)
	}
	o.found = make([]bool, len(o.fields))
	o.done.Go(o.flush)
	return o, nil
}

// Write prints a record. An error of the output is returned from then on.
func (o *Writer) Write(m query.Match) error { return o.write(m, false) }

// WriteLate prints a record that should have been printed earlier. It is marked "(late)" in the pretty format and
// "late":true in JSON.
func (o *Writer) WriteLate(m query.Match) error { return o.write(m, true) }

func (o *Writer) write(m query.Match, late bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	o.line = o.line[:0]
	if o.opts.Around && m.Gap && o.written && !slices.Contains([]string{JSON, Flat, CSV, Parquet}, o.opts.Format) {
		o.line = append(o.line, "--\n"...)
	}
	o.match, o.late, o.written = m, late, true
	if o.line = o.append(o.line, &o.match); o.err == nil {
		_, o.err = o.w.Write(o.line)
	}
	return o.err
}

// Flush writes buffered output.
func (o *Writer) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = o.w.Flush()
	}
	return o.err
}

// Close writes buffered output and ends the Writer.
func (o *Writer) Close() error {
	close(o.stop)
	o.done.Wait()
	if o.rows != nil && o.err == nil {
		o.err = o.rows.Close()
	}
	return o.Flush()
}

// flush flushes periodically until the Writer is closed.
func (o *Writer) flush() {
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for {
		select {
		case <-o.stop:
			return
		case <-ticker.C:
		}
		_ = o.Flush() // the next Write returns the error
	}
}
