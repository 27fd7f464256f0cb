package main

import (
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/query/output"
	"logstow/query/report"
)

// section is the flags under a heading of the help.
type section struct {
	heading string
	flags   []cliFlag
}

// cliFlag declares a flag of some commands.
type cliFlag struct {
	// commands are the names of its commands; the names and the usage are as in [cli.Flag], which kind makes.
	commands, names string
	kind            func(names, usage string) cli.Flag
	usage           string
}

// The commands of flags.
const (
	searching = "query stats fields patterns" // with a selection of records
	selecting = searching + " segments"       // with services and levels
	bounded   = searching + " ql saved"       // with a plan, and limits
	ranged    = bounded + " segments"         // with a range
	metered   = bounded + " serve"            // with a cache, and prices
	inStores  = ranged + " services serve"    // with stores
)

// flags declares all flags, in the order of the help.
func flags() []section {
	return []section{
		{"Store", []cliFlag{
			{searching, "file", cli.Repeated, "`FILE`: log file or glob to read instead of a store, plain, gzip or zstd; - is standard input; repeatable"},
			{inStores, "store", cli.Repeated, "`STORE`: directory or azblob://CONTAINER to read; repeatable (default: $LOGSTOW_STORE)"},
			{inStores, "grant", cli.Repeated, "`FILE`: file of shipper grant, which names a store and gives access to it; repeatable"},
			{metered, "layout", cli.Text, "`LAYOUT`: read what another program wrote to --store, azblob://PREFIX* for several containers: azure, fluent-bit, vector, otel, '$logs', or a pattern of names such as '{service}/{yyyy}/{MM}/{dd}/{HH}/{*}.json.gz'"},
			{metered, "layout-slack=1h", cli.Text, "`DURATION`: how long after its time a record may have been stored; later ones are missed"},
			{"services segments", "layout", cli.Hidden, ""},
			{metered, "layout-tz", cli.Text, "`ZONE`: zone of the times in names (default: UTC, for otel local)"},
			{inStores, "auth", cli.Text, "`KIND`: Azure credential: key, sas, workload, msi, cli, or auto (the first of these that is set) (default: $LOGSTOW_AUTH, else auto)"},
		}},
		{"Queries", []cliFlag{
			{"saved serve", "queries", cli.Text, "`FILE`: queries that all users share, as YAML; read again when it changes (default: $LOGSTOW_QUERIES)"},
		}},
		{"Range", []cliFlag{
			{ranged, "since", cli.Text, "`TIME`: start of the range, as a duration before now or a time: 15m, 2h, 3d, 1w, yesterday; not with --from"},
			{ranged, "from", cli.Text, "`TIME`: start of the range: 2026-11-20T15:04:05Z, '2026-11-20 15:04 +0100', 'Nov 20 15:04', 15:04 (today), '1 hour ago', -2h, Unix time"},
			{ranged, "to", cli.Text, "`TIME`: end of the range, exclusive; with --since or --from (default: an hour past now, for clocks that are ahead)"},
			{ranged, "tz", cli.Text, "`ZONE`: zone of printed times, and of those without one in flags and --file: Europe/Berlin, UTC, local or +02:00 (default: local, but see --output)"},
			{ranged, "utc", cli.Switch, "short for --tz UTC"},
		}},
		{"Selection", []cliFlag{
			{selecting, "service,s", cli.Repeated, "`GLOB`: service name or glob; repeatable (default: all)"},
			{selecting, "level,l", cli.Items, "`LEVEL`: trace, debug, info, warn, error, fatal or - (none), or a minimum level (warn+); a list, repeatable"},
			{searching, "source", cli.Repeated, "`GLOB`: source, such as a file's path, or glob, in which * does not match / and ** is any number of directories; repeatable (default: all)"},
			{searching, "regexp,e", cli.Repeated, "`REGEXP`: regular expression (RE2) that matches somewhere in the message; repeatable, all must match"},
			{searching, "exclude,x", cli.Repeated, "`TEXT`: text that the message must not contain, matched like PATTERN; repeatable"},
			{searching, "ids-from", cli.Text, "`FILE`: file of at most 100000 identifiers, one per line; the message must contain at least one, matched like PATTERN; - is standard input"},
			{searching, "pattern", cli.Repeated, "`TEMPLATE`: template that the whole message matches, as logq patterns prints it, with <_> for any text; repeatable, all must match"},
			{searching, "where", cli.Repeated, "`EXPR`: condition on fields, such as 'status >= 500'; repeatable, all must be true"},
			{"query", "sample", cli.Text, "`SHARE`: print only about this share of the matching records, such as 1%, chosen by a hash of each: the same records in every run"},
			{"stats fields patterns", "sample", cli.Hidden, ""},
			{searching, "parse", cli.Text, "`PARSER`: how to find the fields of messages, as one argument: auto, none, csv, \"csv 'time,user'\", \"pattern '<ip> <_>'\" or \"regexp '(?P<ip>[0-9.]+)'\" (default: that of each segment)"},
			{searching, "ignore-case,i", cli.Switch, "ignore the case of ASCII letters in PATTERN, --exclude and --ids-from, and add (?i) to --regexp"},
			{searching, "substring", cli.Switch, "find identifiers of PATTERN, --exclude and --ids-from inside longer ones too"},
		}},
		{"Range", []cliFlag{
			{"patterns", "before", cli.Text, "`TIME`: end of the first of two ranges to compare, exclusive (default: that of --after)"},
			{"patterns", "after", cli.Text, "`TIME`: start of the second of two ranges to compare (default: that of --before)"},
		}},
		{"Output", []cliFlag{
			{"query", "output,o=|" + strings.Join(output.Formats(), "|") + "=", cli.Text, "`FORMAT`: raw, text, json, flat, csv, parquet, pretty or template=TEXT; all but pretty use UTC without --tz (default: pretty on a terminal, else text)"},
			{"query", "fields", cli.Items, "`NAME`: print only these columns: time, level, service, source, instance, message or fields of the message; a list, repeatable"},
			{"query", "limit,n", cli.Number, "`N`: print only the first N matches; with -f, end after them (default: all)"},
			{"ql saved", "step", cli.Text, "`DURATION`: evaluate a metric query at every step of the range, such as 1m (default: once, at its end)"},
			{"ql saved", "limit,n", cli.Number, "`N`: print only the first N records (default: all)"},
			{"query ql saved", "newest", cli.Switch, "print the newest record first; with -n, the newest N"},
			{"query", "tail", cli.Number, "`N`: print only the last N records, oldest first; with -f, before new ones"},
			{"query", "after-context,A", cli.Number, "`N`: print N records of the same source and instance after each match, at most an hour away"},
			{"query", "before-context,B", cli.Number, "`N`: print N records of the same source and instance before each match, at most an hour away"},
			{"query", "context,C", cli.Number, "`N`: both -A and -B, which override it"},
			{"query", "sort", cli.Items, "`ITEM`: print in the order of a field's values: NAME, or NAME desc for the largest first; with -n, the first N; a list, repeatable"},
			{"query", "distinct", cli.Text, "`NAME`: print only the different values of a field, with their counts in json and csv"},
			{"query", "count,c", cli.Switch, "print only the number of matching records"},
			{"query", "color=auto|always|never", cli.Text, "`MODE`: colour levels, services and matches: auto (on a terminal), always or never"},
			{"query", "wrap", cli.Switch, "in pretty, wrap lines longer than the terminal's width instead of leaving out the middle of long values and texts"},
			{"query", "indent", cli.Switch, "with -o json and flat, print each object over several lines"},
			{ranged + " services", "no-pager", cli.Switch, "do not show output that is longer than the terminal in a pager"},
			{"stats", "by", cli.Repeated, "`KEY`: what to group by; a list, repeatable (default: level, with --compute nothing)"},
			{"stats", "compute", cli.Repeated, "`FUNCTION`: what to compute for each group; a list, repeatable (default: count, in a table also share)"},
			{"stats", "sort", cli.Repeated, "`ITEM`: function (default desc) or key (default asc) to sort by, optionally followed by asc or desc; a list, repeatable (default: time, then buckets, then the first function, largest first)"},
			{"stats", "pivot", cli.Text, "`KEY`: one of --by whose values become columns, at most 100"},
			{"stats", "limit,n=30 in a table that is not by time or bucket, else all", cli.Number, "`N`: print only the first N groups; with a time step, the N groups of the other keys that rank first over the whole range"},
			{"stats", "output,o=" + strings.Join(report.Formats(), "|"), cli.Text, "`FORMAT`: table, json (one object per line), csv or parquet; all but table use UTC without --tz"},
			{"fields", "top=5", cli.Number, "`N`: number of values to print per field"},
			{"fields", "output,o=table|json|csv", cli.Text, "`FORMAT`: table, json (one object per line) or csv (one line per value)"},
			{"patterns", "limit,n=30 in a table, else all", cli.Number, "`N`: print only the first N templates; in a comparison, of each kind"},
			{"patterns", "output,o=table|json|csv", cli.Text, "`FORMAT`: table, json (one object per line) or csv; json and csv use UTC without --tz"},
			{"ql saved", "output,o=table|csv|json|loki", cli.Text, "`FORMAT`: table, csv, json (one object per line) or loki; all but table use UTC without --tz"},
			{"segments", "output,o=table|json", cli.Text, "`FORMAT`: table, or json (one object per line); both use UTC without --tz"},
			{"segments", "paths", cli.Switch, "print the path or URL of each segment, one per line, for other programs; with -o json as another property"},
			{"query", "explain", cli.Switch, "also report the plan, bytes read and estimated cost on standard error; as JSON with -o json"},
			{"stats fields patterns ql saved", "explain", cli.Switch, "also report the plan, bytes read and estimated cost on standard error"},
		}},
		{"Follow", []cliFlag{
			{"query", "follow,f", cli.Switch, "poll for new segments and print their records, until interrupted; with a range or --tail, print those records first; with --file, follow files as tail -F does"},
			{"query", "follow-window", cli.Text, "`DURATION`: maximum age of records that arrive late and are still printed (default: 2h)"},
			{"query", "follow-interval", cli.Text, "`DURATION`: interval between polls (default: 1s while shippers respond to watches, else 2s)"},
			{"query", "no-watch", cli.Switch, "with -f, do not create watches, which make shippers flush early"},
		}},
		{"Selection", []cliFlag{
			{"query stats", "fresh", cli.Switch, "first make running shippers of the services flush, and wait up to 15s for them, up to 75s if no one has followed for an hour; writes to the store's table of watches"},
		}},
		{"Server", []cliFlag{
			{"serve", "listen=127.0.0.1:3100", cli.Text, "`ADDRESS`: address to listen on, HOST:PORT; binds to loopback if no host is given"},
			{"serve", "tls-cert", cli.Text, "`FILE`: certificate for HTTPS (PEM); read again when it changes"},
			{"serve", "tls-key", cli.Text, "`FILE`: key of the certificate (PEM)"},
			{"serve", "behind-proxy", cli.Switch, "a proxy in front terminates HTTPS: mark cookies as secure; headers of the proxy are ignored"},
			{"serve", "tokens", cli.Text, "`FILE`: tokens and the services that each may read; required on addresses that are not loopback"},
			{"serve", "host", cli.Repeated, "`NAME`: additional host name accepted in requests without a token; repeatable (default: loopback names)"},
			{"serve", "watch", cli.Switch, "write watches to the store, which make shippers flush services followed by live tails early"},
			{"serve", "metrics", cli.Switch, "serve Prometheus metrics at /metrics"},
		}},
		{"Limits", []cliFlag{
			{bounded, "max-bytes", cli.Text, "`SIZE`: stop, with status 3, before more is read from storage, such as 500MB or 2GiB (default: no limit)"},
			{bounded, "max-cost", cli.Decimal, "`DOLLARS`: stop, with status 3, before requests cost more (default: no limit)"},
			{"serve", "max-bytes", cli.Text, "`SIZE`: end a query before it reads more from storage, such as 500MB or 2GiB (default: no limit)"},
			{"serve", "max-cost", cli.Decimal, "`DOLLARS`: end a query before its requests cost more (default: no limit)"},
			{"serve", "max-duration=5m", cli.Text, "`DURATION`: end a query that takes longer; 0s for no limit"},
			{"serve", "max-cost-per-day", cli.Decimal, "`DOLLARS`: maximum cost of the queries and watches of this process in a day (UTC) (default: no limit)"},
			{"serve", "max-queries=4", cli.Number, "`N`: maximum number of concurrent queries, and of concurrent queries of metadata"},
			{"serve", "max-queued=32", cli.Number, "`N`: maximum number of waiting queries (more are rejected with status 429), and of live tails"},
			{metered, "prices", cli.Text, "`FILE`: prices of requests, as JSON (default: $LOGSTOW_PRICES, else Azure's list prices)"},
			{bounded, "plan=auto|list|index", cli.Text, "`MODE`: how segments are found: list (by name, complete), index (fewer requests, may miss the newest) or auto (list)"},
			{metered, "no-cache", cli.Switch, "do not use the local cache of data read from Azure"},
			{"query", "memory=256MiB", cli.Text, "`SIZE`: memory for records of --sort and values of --distinct; beyond it, temporary files are used"},
			{"stats", "memory=256MiB", cli.Text, "`SIZE`: memory for groups; beyond it, temporary files are used"},
			{"fields", "all", cli.Switch, "read all records, not a sample"},
		}},
	}
}

// flagsOf makes the flags of a command.
func flagsOf(command string) (all []ucli.Flag) {
	for _, s := range flags() {
		for _, f := range s.flags {
			if slices.Contains(strings.Fields(f.commands), command) {
				all = append(all, cli.Under(s.heading, f.kind(f.names, f.usage))...)
			}
		}
	}
	return all
}

// rules declares which flags cannot be used together, and which require others.
func rules() []cli.Rule {
	const (
		around = "after-context before-context context"
		sorted = "values are sorted by their bytes"
	)
	return []cli.Rule{
		cli.Without("tz", "utc", "both set the zone"),
		cli.Without("since", "from", "both set the start of the range"),
		cli.Without("file", "store grant auth no-cache", "files are not in a store"),
		cli.Without("file", "service", "files have no services; --source selects by the path"),
		cli.Without("file", "follow-window follow-interval", "files are followed as they are written"),
		cli.Without("file", "no-watch fresh", "no shipper writes to them"),
		cli.Without("file", "plan max-bytes", "files are read whole"),
		cli.Without("file", "max-cost prices", "reading files costs nothing"),
		cli.Without("layout", "file grant", "it is of the blobs in --store"),
		cli.Without("layout", "follow", "blobs of other programs are read once; run the query again for later records"),
		cli.Without("layout", "fresh watch", "no shipper writes to them; omit it"),
		cli.Without("tail", "count newest limit", ""),
		cli.Without("follow", "fresh", "it makes shippers flush while it runs"),
		cli.Without("follow", "count newest to", ""),
		cli.Without("sort", "follow", "records that come later may belong before printed ones"),
		cli.Without("sort", "newest", "--sort sets the order; write --sort 'time desc'"),
		cli.Without("sort", "tail", "--sort sets the order; reverse it with asc or desc, and use -n"),
		cli.Without("sort", around, "context is printed in the order of time"),
		cli.Without("sort", "distinct", sorted),
		cli.Without("distinct", "follow", "values are printed once all records are read"),
		cli.Without("distinct", "newest tail", sorted),
		cli.Without("distinct", around+" fields", "values are printed, not records"),
		cli.Without("sample", "count distinct", "numbers of a sample are not those of the records; omit --sample"),
		cli.Without("indent", "count distinct", "numbers and values are printed one in a line"),
		cli.Without("distinct", "count", "logq stats --compute 'distinct(NAME)' counts values"),
		cli.Requires("layout-slack", "layout"),
		cli.Requires("layout-tz", "layout"),
		cli.Requires("follow-window", "follow"),
		cli.Requires("follow-interval", "follow"),
		cli.Requires("no-watch", "follow"),
		cli.Requires("memory", "sort distinct"),
	}
}

// checkSample reports --sample of a command whose numbers would be those of a sample.
func checkSample(c *ucli.Context) error {
	if c.Command.Name != "query" && c.IsSet("sample") {
		return hint.Wrap(cli.Usagef("%s has no --sample: numbers of a sample are not those of the records", c.Command.Name),
			"omit it: %s reads columns or a part of the records where that is enough; --explain shows what it reads", c.Command.Name)
	}
	return nil
}
