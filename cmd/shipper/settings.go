package main

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/agent"
	"logstow/blobnaming"
	"logstow/config"
	"logstow/input"
	"logstow/input/container"
	"logstow/input/files"
	"logstow/input/kinds"
	"logstow/input/listen"
	"logstow/input/stdin"
	"logstow/internal/cli"
	"logstow/internal/units"
	"logstow/process"
	"logstow/record"
	"logstow/relay"
	"logstow/store/open"
)

// minBufferSize is the minimum of --buffer-size in bytes.
const minBufferSize = 1 << 20

// readSettings reads and checks the flags and the configuration file; the error joins all problems.
func readSettings(c *ucli.Context) (agent.Settings, error) {
	file := &config.Config{}
	if path := c.String("config"); path != "" {
		var err error
		if file, err = config.Read(path, os.LookupEnv); err != nil {
			return agent.Settings{}, err
		}
	}
	return settingsOf(c, file, readInputs)
}

// settingsOf reads and checks the flags, for the inputs that inputs returns.
func settingsOf(c *ucli.Context, file *config.Config, inputs func(*problems, *ucli.Context, *config.Config) []config.Input) (agent.Settings, error) {
	var errs problems
	if address := c.String("metrics"); address != "" {
		checkAddress(&errs, "metrics", address, listen.CheckAddress)
	}
	s := agent.Settings{
		Reloadable:     c.String("config") != "",
		Instance:       pick(c, "instance", file.Instance),
		Once:           c.Bool("once"),
		MetricsAddress: cmp.Or(c.String("metrics"), file.Metrics),
		LogMetrics:     file.LogMetrics,

		FlushInterval:    choose(&errs, c, "flush-interval", file.FlushInterval, units.ParseDuration),
		MaxFlushInterval: choose(&errs, c, "max-flush-interval", file.MaxFlushInterval, units.ParseZero),
		FlushSize:        choose(&errs, c, "flush-size", file.FlushSize, units.ParseSize),
		Width:            choose(&errs, c, "bucket", file.Bucket, units.ParseDuration),
		RetryFor:         choose(&errs, c, "retry-for", file.RetryFor, units.ParseDuration),
		DrainTimeout:     choose(&errs, c, "drain-timeout", file.DrainTimeout, units.ParseDuration),
		MaxLateness:      file.MaxLateness,
		MaxOpen:          file.OpenBuckets,

		BufferSize: choose(&errs, c, "buffer-size", file.Buffer.Size, units.ParseSize),
	}
	errs.check(s.MaxFlushInterval == 0 || s.MaxFlushInterval >= s.FlushInterval,
		"--max-flush-interval %v: want at least the --flush-interval, %v, or 0", s.MaxFlushInterval, s.FlushInterval)
	filter := pick(c, "filter", file.Filter)
	errs.check(filter == "on" || filter == "off", "--filter %q: want on or off", filter)
	s.NoFilter = filter == "off"
	index := pick(c, "index", file.Index)
	errs.check(index == "on" || index == "off", "--index %q: want on or off", index)
	s.NoIndex = index == "off"
	var err error
	s.Columns, err = config.ParseColumns(pick(c, "columns", file.Columns))
	errs.check(err == nil, "--columns: %w", err)
	s.Watch.Interval, err = config.ParseWatchInterval(pick(c, "watch-interval", file.WatchInterval))
	errs.check(err == nil, "--watch-interval: %w", err)
	if s.NoIndex { // watches are in tables
		s.Watch.Interval = 0
	}
	if s.Watch.MaxFlushes = c.Int("max-watch-flushes"); file.MaxWatchFlushes > 0 && !c.IsSet("max-watch-flushes") {
		s.Watch.MaxFlushes = file.MaxWatchFlushes
	}
	errs.check(s.Watch.MaxFlushes > 0, "--max-watch-flushes %d: want at least 1", s.Watch.MaxFlushes)
	if s.Instance == "" {
		s.Instance = hostInstance(&errs)
	}
	errs.check(blobnaming.ValidInstance(s.Instance), "--instance %q: want 1 to %d of A-Z a-z 0-9 . _ -", s.Instance, blobnaming.MaxInstance)
	errs.check(s.Width == 0 || blobnaming.ValidWidth(s.Width), "--bucket %s: want 5m, 10m, 15m, 20m, 30m or 60m", c.String("bucket"))
	errs.check(s.FlushSize > 0 || len(errs) > 0, "--flush-size: want more than 0")
	errs.advise(s.Once || !c.IsSet("retry-for"), "--retry-for requires --once", "omit it: without --once, retries are unlimited")
	errs.check(s.BufferSize == 0 || s.BufferSize >= minBufferSize, "--buffer-size %s: want at least 1MiB", c.String("buffer-size"))
	errs.advise(len(s.LogMetrics) == 0 || s.MetricsAddress != "", "log-metrics require an address of the metrics", "set metrics in the file, or give --metrics")
	s.Inputs = inputs(&errs, c, file)
	s.Stores = readStores(&errs, c, file, s.Inputs)
	checkRelays(&errs, &s)
	s.Service = oneService(s.Inputs)
	for _, in := range s.Inputs {
		errs.check(!s.Once || in.Kind().CheckAddress == nil, "--once: a %s input has no end", in.Kind().Name)
	}
	readBuffer(&s, &errs, c, &file.Buffer)
	return s, errors.Join(errs...)
}

// checkRelays checks what relays require, as destinations and as an input.
func checkRelays(errs *problems, s *agent.Settings) {
	const most = 16 << 20
	if slices.ContainsFunc(s.Stores.Every(), relay.IsName) {
		errs.check(s.FlushSize <= most, "--flush-size: a relay takes segments of at most 16MiB")
	}
	inputs := 0
	for _, in := range s.Inputs {
		if in.Kind().Segments {
			inputs++
		}
	}
	errs.check(inputs <= 1, "there may be one relay input: it numbers the segments of its senders")
}

// pick is the value of a flag if it is given, else the file's, else the flag's default.
func pick(c *ucli.Context, name, file string) string {
	if value := c.String(name); file == "" || c.IsSet(name) && value != "" {
		return value
	}
	return file
}

// choose is pick for values of other types.
func choose[T comparable](errs *problems, c *ucli.Context, name string, file T, read func(string) (T, error)) T {
	var zero T
	if file != zero && !c.IsSet(name) {
		return file
	}
	return parse(errs, c, name, read)
}

// readBuffer reads the settings of the buffer.
func readBuffer(s *agent.Settings, errs *problems, c *ucli.Context, file *config.Buffer) {
	var err error
	s.Sync, err = parseSync(pick(c, "sync", file.Sync))
	errs.check(err == nil, "--sync: %w", err)
	s.OnFull, err = parseOnFull(pick(c, "on-full", file.OnFull))
	errs.check(err == nil, "--on-full: %w", err)
	s.OnLostPositions, err = parseOnLostPositions(pick(c, "on-lost-positions", file.OnLostPositions))
	errs.check(err == nil, "--on-lost-positions: %w", err)
	switch mode := pick(c, "buffer", file.Mode); mode {
	case "disk":
	case "memory":
		for _, name := range []string{"buffer-dir", "buffer-size", "sync", "on-full", "on-lost-positions"} {
			errs.check(!c.IsSet(name), "--%s cannot be used together with --buffer memory", name)
		}
		return
	default:
		errs.check(false, "--buffer %q: want disk or memory", mode)
		return
	}
	s.BufferDir = pick(c, "buffer-dir", file.Dir)
	err = open.CheckDir(s.BufferDir)
	errs.check(err == nil, "--buffer-dir: %w", err)
	if s.BufferDir != "" || len(*errs) > 0 {
		return
	}
	dir, err := agent.DefaultBufferDir(s.Service, s.Instance, os.Getenv)
	errs.check(err == nil, "%w", err)
	s.BufferDir = dir
}

// readInputs reads the inputs of the file and of the command line. Flags give what an
// input leaves open.
func readInputs(errs *problems, c *ucli.Context, file *config.Config) []config.Input {
	common := commonFlags(errs, c)
	inputs := slices.Clone(file.Inputs)
	for i := range inputs {
		fill(&inputs[i].Common, &common, c)
	}
	inputs = append(inputs, flagInputs(errs, c, common, len(inputs) > 0)...)
	missing := slices.ContainsFunc(inputs, func(in config.Input) bool { return in.Service == "" && !in.Kind().Segments })
	errs.advise(!missing && (len(inputs) > 0 || c.String("config") != "") || common.Service != "", "--service is missing", "give the name of the service, or give every input its own in the configuration")
	nameFiles(errs, inputs)
	return inputs
}

// commonFlags reads the flags that apply to every input.
func commonFlags(errs *problems, c *ucli.Context) config.Common {
	common := config.Common{
		Service: c.String("service"), Class: c.String("class"),
		MaxRecord: parse(errs, c, "max-record", units.ParseSize),
		Zone:      parse(errs, c, "time-zone", time.LoadLocation),
		DateOrder: parse(errs, c, "date-order", config.ParseDateOrder),
		Parse:     parse(errs, c, "parse", config.ParseParser),
		Format:    parse(errs, c, "format", container.ParseFormat),
		Multiline: parse(errs, c, "multiline", config.ParseMultiline),
		Process:   process.Options{Redact: cli.List(c, "redact")},
	}
	errs.check(common.Service == "" || blobnaming.ValidService(common.Service), "--service %q: want at most 63 of a-z, 0-9 and, inside, . _ -", common.Service)
	errs.check(blobnaming.ValidClass(common.Class), "--class %q: want at most %d of a-z and 0-9", common.Class, blobnaming.MaxClass)
	errs.check(common.MaxRecord == 0 || common.MaxRecord >= input.MinMaxRecord && common.MaxRecord <= record.MaxSize,
		"--max-record %s: want 1KiB to 16MiB", c.String("max-record"))
	return common
}

// fill sets what an input leaves open from the flags; flags that are given override it.
func fill(in, flags *config.Common, c *ucli.Context) {
	if in.Service == "" {
		in.Service = flags.Service
	}
	if in.Class == "" || c.IsSet("class") {
		in.Class = flags.Class
	}
	if in.Parse == "" || c.IsSet("parse") {
		in.Parse = flags.Parse
	}
	if in.MaxRecord == 0 || c.IsSet("max-record") {
		in.MaxRecord = flags.MaxRecord
	}
	if in.Zone == nil || c.IsSet("time-zone") {
		in.Zone = flags.Zone
	}
	if in.DateOrder == "" || c.IsSet("date-order") {
		in.DateOrder = flags.DateOrder
	}
	if c.IsSet("format") {
		in.Format = flags.Format
	}
	if in.Multiline == nil || c.IsSet("multiline") {
		in.Multiline = flags.Multiline
	}
	in.Process.Redact = append(slices.Clone(in.Process.Redact), flags.Process.Redact...)
}

// flagInputs reads the inputs of the command line. Without any input, a pipe or a file
// on standard input is read.
func flagInputs(errs *problems, c *ucli.Context, common config.Common, others bool) (inputs []config.Input) {
	args := c.Args().Slice()
	errs.check(!slices.Contains(args, ""), "an empty file name")
	var paths []string
	piped := false
	for _, a := range args {
		if a == "-" {
			piped = true
		} else {
			paths = append(paths, a)
		}
	}
	add := func(spec input.Spec, address string) {
		inputs = append(inputs, config.Input{
			Common: common, Spec: spec, Endpoint: listen.Endpoint{Address: address}, FromStart: spec.Kind().Positions && c.Bool("from-start"),
		})
	}
	if len(paths) > 0 {
		add(&files.Spec{Paths: paths}, "")
	}
	for _, spec := range kinds.All() {
		kind := spec.Kind()
		for _, address := range cli.List(c, kind.Name) {
			checkAddress(errs, kind.Name, address, kind.CheckAddress)
			add(spec, address)
		}
		if kind.CheckAddress == nil && kind.Usage != "" && c.Bool(kind.Name) {
			add(spec, "")
		}
	}
	if len(inputs) == 0 && !piped && !others {
		info, err := os.Stdin.Stat()
		piped = err == nil && (info.Mode().IsRegular() || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0)
		errs.advise(piped, "nothing to read", "give files or globs, - for standard input, or another input such as --syslog")
	}
	if piped {
		add(stdin.Spec{}, "")
	}
	return inputs
}

// checkAddress checks the address of a flag.
func checkAddress(errs *problems, name, address string, check func(string) error) {
	err := check(address)
	errs.check(err == nil, "--%s: %w", name, err)
}

// nameFiles gives file inputs names that are stable between runs. The first one without
// a name keeps none.
func nameFiles(errs *problems, inputs []config.Input) {
	taken := map[string]bool{}
	first := true
	for i := range inputs {
		in, ok := inputs[i].Spec.(*files.Spec)
		if !ok {
			continue
		}
		if in.Name == "" && !first {
			h := fnv.New32a()
			fmt.Fprintf(h, "%q", in.Paths)
			in.Name = fmt.Sprintf("files-%08x", h.Sum32())
		}
		first = first && in.Name != ""
		errs.check(!taken[in.Name], "the input of %s has the same name (%s) as another input; give each its own name", strings.Join(in.Paths, ", "), in.Name)
		taken[in.Name] = true
	}
}

// oneService is the service of all inputs, or agent.SeveralServices. It names the directory of the buffer, which
// stays where it is: labels over HTTP do not count.
func oneService(inputs []config.Input) string {
	service := ""
	for i, in := range inputs {
		if i > 0 && in.Service != service || !blobnaming.ValidService(in.Service) || in.Kind().ServiceFromRecords {
			return agent.SeveralServices
		}
		service = in.Service
	}
	return service
}
