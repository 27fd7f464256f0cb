package main

import (
	"slices"
	"strconv"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/list"
	"logstow/query"
	"logstow/query/output"
	"logstow/query/report"
)

// kind is what a flag takes.
type kind int

const (
	textFlag  kind = iota
	listFlag       // several values
	itemsFlag      // several values, each of which may be a list
	numberFlag
	dollarsFlag
	switchFlag  // no value
	refusedFlag // not in the help: the command says why it does not have it
)

// section is the flags under a heading of the help.
type section struct {
	heading string
	flags   []cliFlag
}

// cliFlag declares a flag of some commands.
type cliFlag struct {
	// commands are the names of its commands; names are its own: the long one, the short one behind a comma, and behind = the
	// default, or what the help says of it if that is no number.
	commands, names string
	kind            kind
	usage           string
}

// The commands of flags.
const (
	searching = "query stats fields patterns" // with a selection of records
	selecting = searching + " segments"       // with services and levels
	limited   = searching + " ql saved"       // with a plan, and limits
	ranged    = limited + " segments"         // with a range
	metered   = limited + " serve"            // with a cache, and prices
	inStores  = ranged + " services serve"    // with stores
)

// flags declares all flags, in the order of the help.
func flags() []section {
	return []section{
		{"Store", []cliFlag{
			{searching, "file", listFlag, "`FILE`: log file or glob to read instead of a store, plain, gzip or zstd; - is standard input; repeatable"},
			{inStores, "store", listFlag, "`STORE`: directory or azblob://CONTAINER to read; repeatable (default: $LOGSTOW_STORE)"},
			{inStores, "grant", listFlag, "`FILE`: file of shipper grant, which names a store and gives access to it; repeatable"},
			{metered, "layout", textFlag, "`LAYOUT`: read what another program wrote to --store, azblob://PREFIX* for several containers: azure, fluent-bit, vector, otel, '$logs', or a pattern of names such as '{service}/{yyyy}/{MM}/{dd}/{HH}/{*}.json.gz'"},
			{metered, "layout-slack=1h", textFlag, "`DURATION`: how long after its time a record may have been stored; later ones are missed"},
			{"services segments", "layout", refusedFlag, ""},
			{metered, "layout-tz", textFlag, "`ZONE`: zone of the times in names (default: UTC, for otel local)"},
			{inStores, "auth", textFlag, "`KIND`: Azure credential: key, sas, workload, msi, cli, or auto (the first of these that is set) (default: $LOGSTOW_AUTH, else auto)"},
		}},
		{"Queries", []cliFlag{
			{"saved serve", "queries", textFlag, "`FILE`: queries that all users share, as YAML; read again when it changes (default: $LOGSTOW_QUERIES)"},
		}},
		{"Range", []cliFlag{
			{ranged, "since", textFlag, "`TIME`: start of the range, as a duration before now or a time: 15m, 2h, 3d, 1w, yesterday; not with --from"},
			{ranged, "from", textFlag, "`TIME`: start of the range: 2026-11-20T15:04:05Z, '2026-11-20 15:04 +0100', 'Nov 20 15:04', 15:04 (today), '1 hour ago', -2h, Unix time"},
			{ranged, "to", textFlag, "`TIME`: end of the range, exclusive; with --since or --from (default: an hour past now, for clocks that are ahead)"},
			{ranged, "tz", textFlag, "`ZONE`: zone of printed times, and of those without one in flags and --file: Europe/Berlin, UTC, local or +02:00 (default: local, but see --output)"},
			{ranged, "utc", switchFlag, "short for --tz UTC"},
		}},
		{"Selection", []cliFlag{
			{selecting, "service,s", listFlag, "`GLOB`: service name or glob; repeatable (default: all)"},
			{selecting, "level,l", itemsFlag, "`LEVEL`: trace, debug, info, warn, error, fatal or - (none), or a minimum level (warn+); a list, repeatable"},
			{searching, "source", listFlag, "`GLOB`: source, such as a file's path, or glob, in which * does not match / and ** is any number of directories; repeatable (default: all)"},
			{searching, "regexp,e", listFlag, "`REGEXP`: regular expression (RE2) that matches somewhere in the message; repeatable, all must match"},
			{searching, "exclude,x", listFlag, "`TEXT`: text that the message must not contain, matched like PATTERN; repeatable"},
			{searching, "ids-from", textFlag, "`FILE`: file of at most 100000 identifiers, one per line; the message must contain at least one, matched like PATTERN; - is standard input"},
			{searching, "pattern", listFlag, "`TEMPLATE`: template that the whole message matches, as logq patterns prints it, with <_> for any text; repeatable, all must match"},
			{searching, "where", listFlag, "`EXPR`: condition on fields, such as 'status >= 500'; repeatable, all must be true"},
			{"query", "sample", textFlag, "`SHARE`: print only about this share of the matching records, such as 1%, chosen by a hash of each: the same records in every run"},
			{"stats fields patterns", "sample", refusedFlag, ""},
			{searching, "parse", textFlag, "`PARSER`: how to find the fields of messages, as one argument: auto, none, csv, \"csv 'time,user'\", \"pattern '<ip> <_>'\" or \"regexp '(?P<ip>[0-9.]+)'\" (default: that of each segment)"},
			{searching, "ignore-case,i", switchFlag, "ignore the case of ASCII letters in PATTERN, --exclude and --ids-from, and add (?i) to --regexp"},
			{searching, "substring", switchFlag, "find identifiers of PATTERN, --exclude and --ids-from inside longer ones too"},
		}},
		{"Range", []cliFlag{
			{"patterns", "before", textFlag, "`TIME`: end of the first of two ranges to compare, exclusive (default: that of --after)"},
			{"patterns", "after", textFlag, "`TIME`: start of the second of two ranges to compare (default: that of --before)"},
		}},
		{"Output", []cliFlag{
			{"query", "output,o", textFlag, "`FORMAT`: raw, text, json, flat, csv, parquet, pretty or template=TEXT; all but pretty use UTC without --tz (default: pretty on a terminal, else text)"},
			{"query", "fields", itemsFlag, "`NAME`: print only these columns: time, level, service, source, instance, message or fields of the message; a list, repeatable"},
			{"query", "limit,n", numberFlag, "`N`: print only the first N matches; with -f, end after them (default: all)"},
			{"ql saved", "step", textFlag, "`DURATION`: evaluate a metric query at every step of the range, such as 1m (default: once, at its end)"},
			{"ql saved", "limit,n", numberFlag, "`N`: print only the first N records (default: all)"},
			{"query ql saved", "newest", switchFlag, "print the newest record first; with -n, the newest N"},
			{"query", "tail", numberFlag, "`N`: print only the last N records, oldest first; with -f, before new ones"},
			{"query", "after-context,A", numberFlag, "`N`: print N records of the same source and instance after each match, at most an hour away"},
			{"query", "before-context,B", numberFlag, "`N`: print N records of the same source and instance before each match, at most an hour away"},
			{"query", "context,C", numberFlag, "`N`: both -A and -B, which override it"},
			{"query", "sort", itemsFlag, "`ITEM`: print in the order of a field's values: NAME, or NAME desc for the largest first; with -n, the first N; a list, repeatable"},
			{"query", "distinct", textFlag, "`NAME`: print only the different values of a field, with their counts in json and csv"},
			{"query", "count,c", switchFlag, "print only the number of matching records"},
			{"query", "color=auto", textFlag, "`MODE`: colour levels, services and matches: auto (on a terminal), always or never"},
			{"query", "wrap", switchFlag, "in pretty, wrap lines longer than the terminal's width instead of leaving out the middle of long values and texts"},
			{"query", "indent", switchFlag, "with -o json and flat, print each object over several lines"},
			{ranged + " services", "no-pager", switchFlag, "do not show output that is longer than the terminal in a pager"},
			{"stats", "by", listFlag, "`KEY`: what to group by; a list, repeatable (default: level, with --compute nothing)"},
			{"stats", "compute", listFlag, "`FUNCTION`: what to compute for each group; a list, repeatable (default: count, in a table also share)"},
			{"stats", "sort", listFlag, "`ITEM`: function (default desc) or key (default asc) to sort by, optionally followed by asc or desc; a list, repeatable (default: time, then buckets, then the first function, largest first)"},
			{"stats", "pivot", textFlag, "`KEY`: one of --by whose values become columns, at most 100"},
			{"stats", "limit,n=30 in a table that is not by time or bucket, else all", numberFlag, "`N`: print only the first N groups; with a time step, the N groups of the other keys that rank first over the whole range"},
			{"stats", "output,o=table", textFlag, "`FORMAT`: table, json (one object per line), csv or parquet; all but table use UTC without --tz"},
			{"fields", "top=5", numberFlag, "`N`: number of values to print per field"},
			{"fields", "output,o=table", textFlag, "`FORMAT`: table, json (one object per line) or csv (one line per value)"},
			{"patterns", "limit,n=30 in a table, else all", numberFlag, "`N`: print only the first N templates; in a comparison, of each kind"},
			{"patterns", "output,o=table", textFlag, "`FORMAT`: table, json (one object per line) or csv; json and csv use UTC without --tz"},
			{"ql saved", "output,o=table", textFlag, "`FORMAT`: table, csv, json (one object per line) or loki; all but table use UTC without --tz"},
			{"segments", "output,o=table", textFlag, "`FORMAT`: table, or json (one object per line); both use UTC without --tz"},
			{"segments", "paths", switchFlag, "print the path or URL of each segment, one per line, for other programs; with -o json as another property"},
			{"query", "explain", switchFlag, "also report the plan, bytes read and estimated cost on standard error; as JSON with -o json"},
			{"stats fields patterns ql saved", "explain", switchFlag, "also report the plan, bytes read and estimated cost on standard error"},
		}},
		{"Follow", []cliFlag{
			{"query", "follow,f", switchFlag, "poll for new segments and print their records, until interrupted; with a range or --tail, print those records first; with --file, follow files as tail -F does"},
			{"query", "follow-window", textFlag, "`DURATION`: maximum age of records that arrive late and are still printed (default: 2h)"},
			{"query", "follow-interval", textFlag, "`DURATION`: interval between polls (default: 1s while shippers respond to watches, else 2s)"},
			{"query", "no-watch", switchFlag, "with -f, do not create watches, which make shippers flush early"},
		}},
		{"Selection", []cliFlag{
			{"query stats", "fresh", switchFlag, "first make running shippers of the services flush, and wait up to 15s for them, up to 75s if no one has followed for an hour; writes to the store's table of watches"},
		}},
		{"Server", []cliFlag{
			{"serve", "listen=127.0.0.1:3100", textFlag, "`ADDRESS`: address to listen on, HOST:PORT; binds to loopback if no host is given"},
			{"serve", "tls-cert", textFlag, "`FILE`: certificate for HTTPS (PEM); read again when it changes"},
			{"serve", "tls-key", textFlag, "`FILE`: key of the certificate (PEM)"},
			{"serve", "behind-proxy", switchFlag, "a proxy in front terminates HTTPS: mark cookies as secure; headers of the proxy are ignored"},
			{"serve", "tokens", textFlag, "`FILE`: tokens and the services that each may read; required on addresses that are not loopback"},
			{"serve", "host", listFlag, "`NAME`: additional host name accepted in requests without a token; repeatable (default: loopback names)"},
			{"serve", "watch", switchFlag, "write watches to the store, which make shippers flush services followed by live tails early"},
			{"serve", "metrics", switchFlag, "serve Prometheus metrics at /metrics"},
		}},
		{"Limits", []cliFlag{
			{limited, "max-bytes", textFlag, "`SIZE`: stop, with status 3, before more is read from storage, such as 500MB or 2GiB (default: no limit)"},
			{limited, "max-cost", dollarsFlag, "`DOLLARS`: stop, with status 3, before requests cost more (default: no limit)"},
			{"serve", "max-bytes", textFlag, "`SIZE`: end a query before it reads more from storage, such as 500MB or 2GiB (default: no limit)"},
			{"serve", "max-cost", dollarsFlag, "`DOLLARS`: end a query before its requests cost more (default: no limit)"},
			{"serve", "max-duration=5m", textFlag, "`DURATION`: end a query that takes longer; 0s for no limit"},
			{"serve", "max-cost-per-day", dollarsFlag, "`DOLLARS`: maximum cost of the queries and watches of this process in a day (UTC) (default: no limit)"},
			{"serve", "max-queries=4", numberFlag, "`N`: maximum number of concurrent queries, and of concurrent queries of metadata"},
			{"serve", "max-queued=32", numberFlag, "`N`: maximum number of waiting queries (more are rejected with status 429), and of live tails"},
			{metered, "prices", textFlag, "`FILE`: prices of requests, as JSON (default: $LOGSTOW_PRICES, else Azure's list prices)"},
			{limited, "plan=auto", textFlag, "`MODE`: how segments are found: list (by name, complete), index (fewer requests, may miss the newest) or auto (list)"},
			{metered, "no-cache", switchFlag, "do not use the local cache of data read from Azure"},
			{"query", "memory=256MiB", textFlag, "`SIZE`: memory for records of --sort and values of --distinct; beyond it, temporary files are used"},
			{"stats", "memory=256MiB", textFlag, "`SIZE`: memory for groups; beyond it, temporary files are used"},
			{"fields", "all", switchFlag, "read all records, not a sample"},
		}},
	}
}

// flagsOf makes the flags of a command.
func flagsOf(command string) (all []ucli.Flag) {
	for _, s := range flags() {
		for _, f := range s.flags {
			if slices.Contains(strings.Fields(f.commands), command) {
				all = append(all, f.under(s.heading))
			}
		}
	}
	return all
}

// long returns the names of the flag: the long one, and the short one or "".
func (f cliFlag) long() (name, short string) {
	names, _, _ := strings.Cut(f.names, "=")
	name, short, _ = strings.Cut(names, ",")
	return name, short
}

// under makes the flag under a heading.
func (f cliFlag) under(heading string) ucli.Flag {
	_, value, _ := strings.Cut(f.names, "=")
	name, short := f.long()
	aliases := strings.Fields(short)
	switch f.kind {
	case listFlag, itemsFlag:
		return &cli.ListFlag{Name: name, Aliases: aliases, Category: heading, Usage: f.usage, Commas: f.kind == itemsFlag}
	case numberFlag:
		n, _ := strconv.Atoi(value)
		return &ucli.IntFlag{Name: name, Aliases: aliases, Category: heading, Usage: f.usage, Value: n, DefaultText: value}
	case dollarsFlag:
		return &ucli.Float64Flag{Name: name, Category: heading, Usage: f.usage}
	case switchFlag:
		return &ucli.BoolFlag{Name: name, Aliases: aliases, Category: heading, Usage: f.usage}
	case refusedFlag:
		return &ucli.StringFlag{Name: name, Hidden: true}
	default:
		return &ucli.StringFlag{Name: name, Aliases: aliases, Category: heading, Usage: f.usage, Value: value}
	}
}

// choices are the values of a flag of a command that has no others; none if any may be valid.
func choices(command, flag string) []string {
	switch flag + " of " + command {
	case "output of query":
		return output.Formats()
	case "output of stats":
		return report.Formats()
	case "output of fields", "output of patterns":
		return []string{report.Table, report.JSON, report.CSV}
	case "output of ql", "output of saved":
		return []string{report.Table, report.CSV, report.JSON, qlLoki}
	case "output of segments":
		return []string{report.Table, report.JSON}
	}
	switch flag {
	case "plan":
		return []string{"auto", query.PlanList, query.PlanIndex}
	case "color":
		return []string{"auto", "always", "never"}
	}
	return nil
}

// conflict declares that a flag cannot be used together with any of others, and why.
type conflict struct{ flag, others, reason string }

func conflicts() []conflict {
	const (
		around = "after-context before-context context"
		sorted = "values are sorted by their bytes"
	)
	return []conflict{
		{"tz", "utc", "both set the zone"},
		{"since", "from", "both set the start of the range"},
		{"file", "store grant auth no-cache", "files are not in a store"},
		{"file", "service", "files have no services; --source selects by the path"},
		{"file", "follow-window follow-interval", "files are followed as they are written"},
		{"file", "no-watch fresh", "no shipper writes to them"},
		{"file", "plan max-bytes", "files are read whole"},
		{"file", "max-cost prices", "reading files costs nothing"},
		{"layout", "file grant", "it is of the blobs in --store"},
		{"layout", "follow", "blobs of other programs are read once; run the query again for later records"},
		{"layout", "fresh watch", "no shipper writes to them; omit it"},
		{"tail", "count newest limit", ""},
		{"follow", "fresh", "it makes shippers flush while it runs"},
		{"follow", "count newest to", ""},
		{"sort", "follow", "records that come later may belong before printed ones"},
		{"sort", "newest", "--sort sets the order; write --sort 'time desc'"},
		{"sort", "tail", "--sort sets the order; reverse it with asc or desc, and use -n"},
		{"sort", around, "context is printed in the order of time"},
		{"sort", "distinct", sorted},
		{"distinct", "follow", "values are printed once all records are read"},
		{"distinct", "newest tail", sorted},
		{"distinct", around + " fields", "values are printed, not records"},
		{"sample", "count distinct", "numbers of a sample are not those of the records; omit --sample"},
		{"indent", "count distinct", "numbers and values are printed one in a line"},
		{"distinct", "count", "logq stats --compute 'distinct(NAME)' counts values"},
	}
}

// checkFlags reports flags that cannot be used together, and values that a flag does not have.
func checkFlags(c *ucli.Context) error {
	if c.Command.Name != "query" && c.IsSet("sample") {
		return hint.Wrap(cli.Usagef("%s has no --sample: numbers of a sample are not those of the records", c.Command.Name),
			"omit it: %s reads columns or a part of the records where that is enough; --explain shows what it reads", c.Command.Name)
	}
	given := func(name string) bool {
		_, toggle := c.Generic(name).(interface{ IsBoolFlag() bool })
		return c.IsSet(name) && (!toggle || c.Bool(name))
	}
	for _, one := range conflicts() {
		others := strings.Fields(one.others)
		i := slices.IndexFunc(others, given)
		switch {
		case i < 0 || !given(one.flag):
		case one.reason != "":
			return cli.Usagef("--%s cannot be used together with --%s: %s", one.flag, others[i], one.reason)
		default:
			return cli.Usagef("--%s cannot be used together with %s", one.flag, list.Alternatives(strings.Fields("--"+strings.Join(others, " --"))))
		}
	}
	for _, name := range []string{"output", "plan", "color"} {
		words, value := choices(c.Command.Name, name), c.String(name)
		if format, _, _ := strings.Cut(value, "="); format == output.Template && slices.Contains(words, format) {
			value = format
		}
		if value != "" && words != nil {
			if err := cli.OneOf(name, value, words...); err != nil {
				return err
			}
		}
	}
	return nil
}
