package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/field/where"
	"logstow/input"
	"logstow/input/container"
	"logstow/input/listen"
	"logstow/input/multiline"
	"logstow/internal/list"
	"logstow/internal/units"
	"logstow/logmetrics"
	"logstow/message/parse"
	"logstow/record"
	"logstow/watch"
)

// minBufferSize is the minimum of buffer-size in bytes.
const minBufferSize = 1 << 20

// Settings are the settings of a shipper, apart from its inputs and stores.
type Settings struct {
	// Instance is the instance ID of this shipper, unique among the shippers of its services.
	Instance string

	// FlushInterval, MaxFlushInterval, FlushSize (bytes), Width, MaxLateness, MaxOpen, NoFilter and Columns are options
	// of the buffer, see [buffer.Options].
	FlushInterval    time.Duration
	MaxFlushInterval time.Duration
	FlushSize        int64
	Width            time.Duration
	MaxLateness      time.Duration
	MaxOpen          int
	NoFilter         bool
	Columns          []string

	// NoIndex writes nothing to tables: no index, and no responses to watches.
	NoIndex bool

	// Watch determines how the shipper responds to watches.
	Watch watch.Settings

	// RetryFor is how long a run with --once waits for a response from storage before it fails.
	RetryFor time.Duration
	// DrainTimeout limits the time to upload the remaining records after the run is stopped.
	DrainTimeout time.Duration

	// BufferDir is the directory of the buffer; "" is the default directory.
	BufferDir string
	// BufferSize is the maximum disk usage of the buffer in bytes.
	BufferSize int64
	Sync       buffer.Sync
	OnFull     buffer.OnFull
	// OnLostPositions is the policy for positions of inputs that are lost because the buffer was damaged.
	OnLostPositions buffer.LostPositions

	// LogMetrics are the metrics to compute from the records.
	LogMetrics []logmetrics.Spec
	// MetricsAddress is the address to serve metrics at; "" serves none.
	MetricsAddress string
}

// Setting is a setting that has a flag, and a key of the configuration file with the same meaning.
type Setting struct {
	// Flag is the name of the flag, Heading the heading above it in the help, and Usage its help.
	Flag, Heading, Usage string
	// Default is the value if neither flag nor key is given; "" is none.
	Default string
	// Clearable is set if the flag may be empty.
	Clearable bool
	// Set parses a value and changes the configuration to which the setting belongs.
	Set func(value string) error

	// key is the name of the key.
	key string
}

// into returns a function that parses a value into to. It keeps to if the value is invalid.
func into[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		v, err := parse(text)
		if err == nil {
			*to = v
		}
		return err
	}
}

// choice parses one of several words into to, which is set to the value at the same place.
func choice[T any](to *T, words []string, values ...T) func(string) error {
	return func(text string) error {
		i := slices.Index(words, text)
		if i < 0 {
			return fmt.Errorf("%q: want %s", text, list.Alternatives(words))
		}
		*to = values[i]
		return nil
	}
}

// checked parses a text that check accepts.
func checked(check func(string) error) func(string) (string, error) {
	return func(text string) (string, error) { return text, check(text) }
}

// New returns the configuration without a file: every setting has its default.
func New() *Config {
	c := &Config{Addresses: Addresses{}}
	setDefaults(c.Flags())
	return c
}

// NewCommon returns the default keys of an input.
func NewCommon() (c Common) {
	setDefaults(c.Flags())
	return c
}

func setDefaults(settings []Setting) {
	for _, s := range settings {
		if s.Default != "" {
			_ = s.Set(s.Default) // a default is valid
		}
	}
}

// Flags returns the settings of c that have flags, in the order of the help.
func (c *Config) Flags() []Setting { return slices.Concat(c.top(), c.bufferSection()) }

// top returns the settings whose keys are at the top of the file.
func (c *Config) top() []Setting {
	all := []Setting{
		{
			Flag: "instance", Heading: "Service", Usage: "`NAME`: name of this shipper among those of the service (default: the host name)",
			Set: into(&c.Instance, parseInstance),
		},
		{
			Flag: "flush-interval", Heading: "Segments", Default: "1m", Set: into(&c.FlushInterval, units.ParseDuration),
			Usage: "`DURATION`: maximum age of a record before its segment is uploaded; --flush-size may upload it earlier",
		},
		{
			Flag: "max-flush-interval", Heading: "Segments", Default: "0", Set: into(&c.MaxFlushInterval, units.ParseZero),
			Usage: "`DURATION`: maximum age of a record, instead of --flush-interval, while its service has less than 1 MiB of text to upload and no one follows it; 0 disables it",
		},
		{
			Flag: "watch-interval", Heading: "Segments", Default: "5s", Set: into(&c.Watch.Interval, parseWatchInterval),
			Usage: "`DURATION`: interval between polls for watches, which make shippers upload followed services about every 2s; at least 1m on billed storage while no one has followed for an hour; 0 disables watches",
		},
		{
			Flag:    "max-watch-flushes",
			Heading: "Segments",
			Default: strconv.Itoa(watch.DefaultMaxFlushes),
			Set:     into(&c.Watch.MaxFlushes, wholeNumber(1, math.MaxInt)),
			Usage:   "`N`: maximum number of segments uploaded early because of watches, per service and UTC day",
		},
		{
			Flag: "flush-size", Heading: "Segments", Default: "8MiB", Set: into(&c.FlushSize, parseSize),
			Usage: "`SIZE`: compressed size at which a segment is uploaded; it is also uploaded at 512 MiB of text",
		},
		{
			Flag: "bucket", Heading: "Segments", Default: "60m", Set: into(&c.Width, parseWidth),
			Usage: "`DURATION`: length of time buckets: 5m, 10m, 15m, 20m, 30m or 60m; all records of a segment are of one bucket",
		},
		{
			Flag: "filter", Heading: "Segments", Default: "on", Set: choice(&c.NoFilter, []string{"on", "off"}, false, true),
			Usage: "`MODE`: write the token filter, which speeds up searches for identifiers: on or off",
		},
		{
			Flag: "index", Heading: "Segments", Default: "on", Set: choice(&c.NoIndex, []string{"on", "off"}, false, true),
			Usage: "`MODE`: write the index and respond to watches, which need tables: on, or off for accounts without tables",
		},
		{
			Flag: columnsKey, Heading: "Segments", Default: ColumnsAuto, Set: into(&c.Columns, ParseColumns),
			Usage: "`LIST`: write columns of these fields and of frequent ones, which speed up conditions and aggregations; auto and off write none (shipper compact adds them)",
		},
		{
			Flag: "drain-timeout", Heading: "Limits", Default: "25s", Set: into(&c.DrainTimeout, units.ParseDuration),
			Usage: "`DURATION`: maximum time to ship what was read after the first signal",
		},
		{
			Flag: "retry-for", Heading: "Limits", Default: "30s", Set: into(&c.RetryFor, units.ParseDuration),
			Usage: "`DURATION`: with --once, maximum time without a response from storage; otherwise retries are unlimited",
		},
		{
			Flag: "metrics", Heading: "Metrics", Usage: "`ADDRESS`: serve /metrics, /healthz and /readyz, such as :9464",
			Set: into(&c.MetricsAddress, checked(listen.CheckAddress)),
		},
	}
	return keysAsFlags(all)
}

// bufferSection returns the settings whose keys are in the section buffer.
func (c *Config) bufferSection() []Setting {
	return []Setting{
		{
			Flag:    "buffer",
			key:     "mode",
			Heading: "Buffer",
			Default: "disk",
			Set:     choice(&c.Memory, []string{"disk", "memory"}, false, true),
			Usage:   "`MODE`: where records are buffered: disk, or memory, which excludes the other flags of the buffer",
		},
		{
			Flag: "buffer-dir", key: "dir", Heading: "Buffer", Set: into(&c.BufferDir, anyText),
			Usage: "`DIR`: directory of the buffer (default: logstow/SERVICE/INSTANCE in the state directory; _several for several services)",
		},
		{
			Flag:    "buffer-size",
			key:     "size",
			Heading: "Buffer",
			Default: "1GiB",
			Set:     into(&c.BufferSize, SizeFrom(minBufferSize, math.MaxInt64, "at least 1MiB")),
			Usage:   "`SIZE`: maximum disk usage of the buffer, at least 1MiB",
		},
		{
			Flag: "sync", key: "sync", Heading: "Buffer", Default: "1s", Set: into(&c.Sync, parseSync),
			Usage: "`MODE`: fsync policy: always, an interval such as 1s, or never",
		},
		{
			Flag: "on-full", key: "on-full", Heading: "Buffer", Default: "block",
			Set:   choice(&c.OnFull, []string{"block", "drop-oldest"}, buffer.Block, buffer.DropOldest),
			Usage: "`MODE`: what to do when the buffer is full: block (inputs wait) or drop-oldest (drop the oldest records)",
		},
		{
			Flag: "on-lost-positions", key: "on-lost-positions", Heading: "Buffer", Default: "reread",
			Set:   choice(&c.OnLostPositions, []string{"reread", "skip", "stop"}, buffer.RereadLost, buffer.SkipLost, buffer.StopLost),
			Usage: "`MODE`: what to do when the saved positions of inputs are lost: reread (may store lines twice), skip (may miss lines) or stop",
		},
	}
}

// Flags returns the settings of c that have flags, in the order of the help.
func (c *Common) Flags() []Setting {
	return keysAsFlags([]Setting{
		{
			Flag: "class", Heading: "Service", Clearable: true, Set: into(&c.Class, parseClass),
			Usage: "`CLASS`: retention class of the segments, which shipper retain --class selects (default: without a class)",
		},
		{
			Flag: "format", Heading: "Records", Default: "auto", Set: into(&c.Format, container.ParseFormat),
			Usage: "`FORMAT`: container log format of files: auto (detected), cri, docker or none",
		},
		{
			Flag: multilineKey, Heading: "Records", Default: "auto", Set: into(&c.Multiline, parseMultiline),
			Usage: "`REGEXP`: join lines of files and standard input into records: auto (stack traces and the like), off, or a regular expression that matches first lines",
		},
		{
			Flag: "parse", Heading: "Records", Default: "auto", Set: into(&c.Parse, parseParser),
			Usage: "`PARSER`: how to find the fields of messages, as one argument: auto, none, csv, \"csv 'time,user'\", \"pattern '<ip> <_>'\" or \"regexp '(?P<ip>[0-9.]+)'\"",
		},
		{
			Flag: "date-order", Heading: "Records", Default: "mdy", Set: choice(&c.DayFirst, []string{"mdy", "dmy"}, false, true),
			Usage: "`FORMAT`: order of dates such as 10/11/2026: mdy or dmy",
		},
		{
			Flag: "time-zone", Heading: "Records", Default: "UTC", Set: into(&c.Zone, time.LoadLocation),
			Usage: "`ZONE`: time zone of timestamps without one, such as Europe/Berlin",
		},
		{
			Flag:    "max-record",
			Heading: "Records",
			Default: "1MiB",
			Set:     into(&c.MaxRecord, SizeFrom(input.MinMaxRecord, record.MaxSize, "1KiB to 16MiB")),
			Usage:   "`SIZE`: truncate longer lines and mark them, and split longer multi-line records; 1KiB to 16MiB",
		},
	})
}

// The keys that may also have other values than texts.
const (
	columnsKey   = "columns"
	multilineKey = "multiline"
)

// keysAsFlags sets the names of the keys to those of the flags.
func keysAsFlags(settings []Setting) []Setting {
	for i := range settings {
		settings[i].key = settings[i].Flag
	}
	return settings
}

func anyText(v string) (string, error) { return v, nil }

func parseInstance(v string) (string, error) {
	return v, valid(blobnaming.ValidInstance(v), "%q: want 1 to %d of A-Z a-z 0-9 . _ -", v, blobnaming.MaxInstance)
}

func parseClass(v string) (string, error) {
	return v, valid(blobnaming.ValidClass(v), "%q: want at most %d of a-z and 0-9", v, blobnaming.MaxClass)
}

// ParseService parses the name of a service.
func ParseService(v string) (string, error) {
	return v, valid(blobnaming.ValidService(v), "%q: want at most 63 characters of a-z, 0-9 and, except at start and end, . _ -", v)
}

func parseWidth(v string) (time.Duration, error) {
	w, err := time.ParseDuration(v)
	return w, valid(err == nil && blobnaming.ValidWidth(w), "%q: want 5m, 10m, 15m, 20m, 30m or 60m", v)
}

// minWatchInterval is the minimum interval between polls for watches.
const minWatchInterval = time.Second

// parseWatchInterval parses the interval between polls for watches: a duration of at least a second, or 0, which disables them.
func parseWatchInterval(text string) (time.Duration, error) {
	d, err := units.ParseZero(text)
	if err == nil && d != 0 && d < minWatchInterval {
		err = fmt.Errorf("%s: want 0, or at least %v", text, minWatchInterval)
	}
	return d, err
}

// SizeFrom returns a function that parses a size from minimum to maximum bytes, which is what want says.
func SizeFrom(minimum, maximum int64, want string) func(string) (int64, error) {
	return func(v string) (int64, error) {
		n, err := units.ParseSize(v)
		if err == nil && (n < minimum || n > maximum) {
			err = fmt.Errorf("%s: want %s", v, want)
		}
		return n, err
	}
}

// parseSize parses a size of at least a byte.
func parseSize(v string) (int64, error) { return SizeFrom(1, math.MaxInt64, "at least 1")(v) }

func parseSync(value string) (buffer.Sync, error) {
	switch value {
	case "always":
		return buffer.SyncAlways, nil
	case "never":
		return buffer.SyncNever, nil
	}
	d, err := units.ParseDuration(value)
	return buffer.Sync(d), valid(err == nil, "%q: want always, never or an interval such as 1s", value)
}

// parseParser compiles a parser of messages, such as pattern '<ip> <_>', and returns it in the form that a
// segment's footer contains, which is "" for auto. Errors contain the position of the mistake.
func parseParser(v string) (string, error) {
	p, err := parse.Compile(v)
	if err != nil {
		return "", err
	}
	return p.Stored(), nil
}

// parseMultiline parses off, auto, or the regular expression that matches the first lines of records.
func parseMultiline(v string) (opts *multiline.Options, err error) {
	opts = &multiline.Options{}
	switch v {
	case "off", "false":
	case "auto":
		opts.Auto = true
	default:
		opts.Start, err = regexp.Compile(v)
	}
	return opts, err
}

// wholeNumber returns a function that parses a whole number from minimum to maximum, which may be [math.MaxInt].
func wholeNumber(minimum, maximum int) func(string) (int, error) {
	want := fmt.Sprintf("a number from %d", minimum)
	if maximum < math.MaxInt {
		want += fmt.Sprintf(" to %d", maximum)
	}
	return func(v string) (int, error) {
		n, err := strconv.Atoi(v)
		return n, valid(err == nil && n >= minimum && n <= maximum, "%q: want %s", v, want)
	}
}

// checkWhere validates a condition on a record, which may not be on its time.
func checkWhere(text string) error {
	_, err := where.CompileUntimed(text)
	return err
}

// valid returns an error unless ok.
func valid(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
