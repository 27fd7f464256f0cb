package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/agent"
	"logstow/blobnaming"
	"logstow/config"
	"logstow/input"
	"logstow/input/files"
	"logstow/input/kinds"
	"logstow/input/listen"
	"logstow/input/stdin"
	"logstow/internal/cli"
	"logstow/relay"
	"logstow/store/open"
)

// readSettings reads and checks the flags and the configuration file; the error joins all problems.
func readSettings(c *ucli.Context) (agent.Settings, error) {
	file := config.New()
	if path := c.String("config"); path != "" {
		var err error
		if file, err = config.Read(path, os.LookupEnv); err != nil {
			return agent.Settings{}, err
		}
	}
	return settingsOf(c, file, c.Bool("once"), readInputs)
}

// settingsOf reads and checks the flags, which override the file, for the inputs that inputs returns. once is set for a run that ends.
func settingsOf(
	c *ucli.Context, file *config.Config, once bool, inputs func(*problems, *ucli.Context, *config.Config) []config.Input,
) (agent.Settings, error) {
	var errs problems
	setGiven(&errs, c, file.Flags())
	s := agent.Settings{Settings: file.Settings, Reloadable: c.String("config") != "", Once: once}
	errs.check(s.MaxFlushInterval == 0 || s.MaxFlushInterval >= s.FlushInterval,
		"--max-flush-interval %v: want at least the --flush-interval, %v, or 0", s.MaxFlushInterval, s.FlushInterval)
	if s.NoIndex { // watches are in tables
		s.Watch.Interval = 0
	}
	if s.Instance == "" {
		s.Instance = hostInstance(&errs)
	}
	errs.advise(s.Once || !c.IsSet("retry-for"), "--retry-for requires --once", "omit it: without --once, retries are unlimited")
	errs.advise(len(s.LogMetrics) == 0 || s.MetricsAddress != "", "log-metrics require an address of the metrics",
		"set metrics in the file, or give --metrics")
	s.Inputs = inputs(&errs, c, file)
	earlier := file.Addresses.Add(s.MetricsAddress, "metrics")
	errs.check(earlier == "", "metrics: %s is also the address of %s", s.MetricsAddress, earlier)
	s.Stores = readStores(&errs, c, file, s.Inputs)
	checkRelays(&errs, &s)
	s.Service = oneService(s.Inputs)
	for _, in := range s.Inputs {
		errs.check(!s.Once || in.Kind().CheckAddress == nil, "--once: a %s input has no end", in.Kind().Name)
	}
	checkBuffer(&errs, c, &s, file.Memory)
	return s, errors.Join(errs...)
}

// setGiven sets the settings whose flags are given.
func setGiven(errs *problems, c *ucli.Context, settings []config.Setting) {
	for _, one := range settings {
		if c.IsSet(one.Flag) {
			errs.flag(one.Flag, c.String(one.Flag), one.Set(c.String(one.Flag)))
		}
	}
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

// checkBuffer checks the directory of the buffer, which it sets to the default if it is missing, or that a buffer in memory has no settings.
func checkBuffer(errs *problems, c *ucli.Context, s *agent.Settings, memory bool) {
	if memory {
		for _, name := range []string{"buffer-dir", "buffer-size", "sync", "on-full", "on-lost-positions"} {
			errs.check(!c.IsSet(name), "--%s cannot be used together with --buffer memory", name)
		}
		s.BufferDir = ""
		return
	}
	err := open.CheckDir(s.BufferDir)
	errs.check(err == nil, "--buffer-dir: %w", err)
	if s.BufferDir != "" || len(*errs) > 0 {
		return
	}
	s.BufferDir, err = agent.DefaultBufferDir(s.Service, s.Instance, os.Getenv)
	errs.check(err == nil, "%w", err)
}

// readInputs reads the inputs of the file and of the command line. Flags give what an
// input leaves open.
func readInputs(errs *problems, c *ucli.Context, file *config.Config) []config.Input {
	common := commonFlags(errs, c)
	inputs := slices.Clone(file.Inputs)
	for i := range inputs {
		override(new(problems), c, &inputs[i].Common) // commonFlags has reported them
	}
	given := flagInputs(errs, c, common, len(inputs) > 0)
	for _, in := range given {
		flag := "--" + in.Kind().Name
		earlier := file.Addresses.Add(in.Address, flag+" "+in.Address)
		errs.check(earlier == "", "%s: %s is also the address of %s", flag, in.Address, earlier)
	}
	inputs = append(inputs, given...)
	missing := slices.ContainsFunc(inputs, func(in config.Input) bool { return in.Service == "" && !in.Kind().Segments })
	errs.advise(!missing && (len(inputs) > 0 || c.String("config") != "") || common.Service != "", "--service is missing",
		"give the name of the service, or give every input its own in the configuration")
	nameFiles(errs, inputs)
	return inputs
}

// commonFlags returns the settings of an input of the command line.
func commonFlags(errs *problems, c *ucli.Context) config.Common {
	common := config.NewCommon()
	override(errs, c, &common)
	return common
}

// override sets what the flags give of an input: --service if it has none, the others always; --redact is added.
func override(errs *problems, c *ucli.Context, in *config.Common) {
	setGiven(errs, c, in.Flags())
	if in.Service == "" && c.IsSet("service") {
		in.Service = parse(errs, c, "service", config.ParseService)
	}
	in.Process.Redact = append(slices.Clone(in.Process.Redact), cli.List(c, "redact")...)
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
			Common:    common,
			Spec:      spec,
			Endpoint:  listen.Endpoint{Address: address},
			FromStart: spec.Kind().Positions && c.Bool("from-start"),
		})
	}
	if len(paths) > 0 {
		add(&files.Spec{Paths: paths}, "")
	}
	for _, spec := range kinds.All() {
		kind := spec.Kind()
		for _, address := range cli.List(c, kind.Name) {
			errs.flag(kind.Name, address, kind.CheckAddress(address))
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
		errs.check(!taken[in.Name], "the input of %s has the same name (%s) as another input; give each its own name",
			strings.Join(in.Paths, ", "), in.Name)
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
