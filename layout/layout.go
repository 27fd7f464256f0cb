package layout

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"logstow/blobnaming"
	"logstow/input/container"
	"logstow/store"
)

// Content is what a blob contains.
type Content uint8

// The contents of blobs.
const (
	// Lines are lines as in a file.
	Lines Content = iota
	// CSV are lines of CSV, the first of which names the columns.
	CSV
	// Resource are records of Azure Monitor, a JSON object each.
	Resource
	// Flow are flow logs of Network Watcher.
	Flow
	// FluentBit and Vector are JSON objects of these programs, a line each.
	FluentBit
	Vector
	// OTLP are requests of OpenTelemetry, in JSON or protobuf.
	OTLP
)

// The names of the built-in layouts.
const (
	Azure         = "azure"
	NameFluentBit = "fluent-bit"
	NameVector    = "vector"
	OTel          = "otel"
	Analytics     = "$logs"
)

// DefaultSlack is the usual slack of names: how long after an event its record may be stored.
const DefaultSlack = time.Hour

// Options are the settings of a [Layout].
type Options struct {
	// Zone is the zone of times in names; nil is UTC, for otel the local zone.
	Zone *time.Location
	// Slack is how long after an event its record may be stored. Negative is none, 0 is [DefaultSlack].
	Slack time.Duration
}

// Layout is the way in which a program names and writes blobs. Immutable.
type Layout struct {
	name      string
	content   Content
	templates []*template
	zone      *time.Location
	slack     time.Duration
}

// builtins are the patterns of the built-in layouts.
func builtins(name string) (patterns []string, content Content, ok bool) {
	switch name {
	case Azure:
		records := "{resource}/{**}/y={yyyy}/m={MM}/d={dd}/h={HH}/m={mm}/{**}"
		return []string{records, "{container}/" + records, "{service}/{yyyy}/{MM}/{dd}/{HH}/{*}", "{yyyy}/{MM}/{dd}/{HH}/{*}"}, Resource, true
	case NameFluentBit:
		uploaded := "{**}.{millis}"
		return []string{uploaded, uploaded + ".gz", uploaded + ".zst", "{**}"}, FluentBit, true
	case NameVector:
		return []string{"{**}/{yyyy}-{MM}-{dd}/{unix}-{*}", "{**}/{yyyy}-{MM}-{dd}/{unix}.{*}"}, Vector, true
	case OTel:
		name := "{yyyy}/{MM}/{dd}/logs_{HH}_{mm}_{ss}"
		return []string{name + ".{*}", name + "_{*}.{*}"}, OTLP, true
	case Analytics:
		return []string{"{service}/{yyyy}/{MM}/{dd}/{HH}00/{*}.log"}, Lines, true
	}
	return nil, Lines, false
}

// Names are the names of the built-in layouts.
func Names() []string { return []string{Azure, NameFluentBit, NameVector, OTel, Analytics} }

// Parse parses a layout: one of [Names], a pattern of names such as {service}/{yyyy}/{MM}/{dd}/{HH}/{*}.json.gz, or both, as in
// vector:logs/{service}/{yyyy}-{MM}-{dd}/{*}, for other names than the usual ones. Without a name the blobs have lines as files have them.
func Parse(text string, opts Options) (*Layout, error) {
	l := &Layout{name: text, zone: opts.Zone, slack: opts.Slack}
	patterns, content, ok := builtins(text)
	if name, pattern, both := strings.Cut(text, ":"); !ok && both {
		if _, content, ok = builtins(name); !ok {
			return nil, fmt.Errorf("%q is no layout: want %s", name, strings.Join(Names(), ", "))
		}
		l.name, patterns, ok = name, []string{pattern}, false
	} else if !ok {
		if !strings.Contains(text, "{") {
			return nil, fmt.Errorf("%q is no layout: want %s, or a pattern such as {service}/{yyyy}/{MM}/{dd}/{HH}/{*}.json.gz",
				text, strings.Join(Names(), ", "))
		}
		l.name, patterns = "", []string{text}
	}
	l.content = content
	for _, pattern := range patterns {
		t, err := compile(pattern, ok)
		if err != nil {
			return nil, fmt.Errorf("pattern %w", err)
		}
		l.templates = append(l.templates, t)
	}
	switch {
	case l.zone != nil:
	case l.name == OTel:
		l.zone = time.Local //nolint:gosmopolitan // the exporter formats names in the local zone
	default:
		l.zone = time.UTC
	}
	switch {
	case l.slack == 0:
		l.slack = DefaultSlack
	case l.slack < 0:
		l.slack = 0
	}
	return l, nil
}

// Slack is how long after an event its record may be stored.
func (l *Layout) Slack() time.Duration { return l.slack }

// Blob is a blob of another program.
type Blob struct {
	store.Blob
	// Service is the service of its records, unless they name one.
	Service string
	// Source is their source, unless they name one.
	Source  string
	Content Content
	// Start and End are the period in which it was written; Start is zero if that is unknown.
	Start, End time.Time
	// Dated is set if its name has the period.
	Dated bool
	// Grows is set if what was written of it does not change: it is read to its listed length. Others are read in the listed version.
	Grows bool
}

// Place is a container or directory.
type Place struct {
	Blobs store.BlobReader
	// Container is its name, without a path.
	Container string
	// Directory is set for a directory: when its files were created is unknown.
	Directory bool
}

// Match returns what a listed blob is, if it is one of the layout.
func (l *Layout) Match(p *Place, b store.Blob) (found Blob, ok bool) {
	if b.Paged || isHidden(b.Name) {
		return Blob{}, false
	}
	var service string
	var start, end time.Time
	for _, t := range l.templates {
		if service, start, end, ok = t.match(b.Name, l.zone); ok {
			break
		}
	}
	if !ok {
		return Blob{}, false
	}
	found = Blob{
		Blob:    b,
		Source:  b.Name,
		Service: service,
		Content: l.content,
		Start:   start,
		End:     end,
		Dated:   !end.IsZero(),
		Grows:   b.Appended || p.Directory,
	}
	switch l.name {
	case Azure:
		l.azure(&found, p)
	case NameFluentBit:
		fluentBit(&found)
	case NameVector:
		if found.Service == "" {
			found.Service = directoryBefore(b.Name, len("2006-01-02/"))
		}
	}
	if found.Service = blobnaming.CleanService(found.Service); found.Service == "" {
		found.Service = blobnaming.CleanService(p.Container)
	}
	if found.Service == "" {
		found.Service = "archive"
	}
	if !found.Dated {
		found.Start, found.End = b.Created, b.Modified.Add(1)
		if p.Directory {
			found.Start = time.Time{}
		}
	}
	return found, true
}

// isHidden reports whether a blob has no logs: a directory of a hierarchical namespace, or a file that a program keeps beside them.
func isHidden(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(name, "/") || strings.HasPrefix(base, ".")
}

// azure completes a blob of Azure Monitor, Network Watcher or App Service.
func (l *Layout) azure(b *Blob, p *Place) {
	of := p.Container
	if first, _, _ := strings.Cut(b.Name, "/"); strings.HasPrefix(first, "insights-") || strings.HasPrefix(first, "am-") {
		of = first
	}
	base := path.Base(b.Name)
	if !strings.Contains(b.Name, "/y=") { // App Service, or copies of blobs
		switch path.Ext(strings.TrimSuffix(strings.TrimSuffix(base, ".gz"), ".zst")) {
		case ".csv":
			b.Content = CSV
		case ".json", ".jsonl", ".ndjson", "":
		default:
			b.Content = Lines
		}
		return
	}
	if b.Service == "" {
		b.Service = categoryOf(of)
	}
	b.Source = resourceOf(b.Name)
	if strings.HasPrefix(strings.ToLower(b.Name), "flowlogresourceid=") || strings.Contains(b.Name, "/macAddress=") ||
		strings.HasSuffix(of, "flowevent") {
		b.Content, b.Grows = Flow, false
	}
	if b.End.Sub(b.Start) >= time.Hour { // the name has no minute
		return
	}
	b.End = hour.next(hour.begin(b.Start))
	if d := width(base); d > 0 {
		b.End = b.Start.Add(d)
	}
}

// categoryOf is the category or table in the name of a container.
func categoryOf(container string) string {
	for _, prefix := range []string{"insights-logs-", "insights-", "am-"} {
		if rest, ok := strings.CutPrefix(container, prefix); ok {
			return rest
		}
	}
	return container
}

// width is the period at the start of the name of a blob, PT1H or PT05M; 0 if there is none.
func width(base string) time.Duration {
	rest, ok := strings.CutPrefix(base, "PT")
	end := strings.IndexAny(rest, "HM")
	if !ok || end < 1 || end > 2 {
		return 0
	}
	n, err := strconv.Atoi(rest[:end])
	switch {
	case err != nil || n < 0:
		return 0
	case rest[end] == 'H':
		return time.Duration(n) * time.Hour
	}
	return time.Duration(n) * time.Minute
}

// resourceOf is the resource in the name of a blob of Azure Monitor: TYPE/NAME, the end of its id.
func resourceOf(name string) string {
	id, _, _ := strings.Cut(name, "/y=")
	_, id, _ = strings.Cut(id, "=")
	return ResourceSource(id)
}

// ResourceSource is the source of the records of a resource with an id: TYPE/NAME in lower case, or the id if it has no type.
// https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
func ResourceSource(id string) string {
	id = strings.ToLower(strings.Trim(id, "/"))
	parts := strings.Split(id, "/")
	if len(parts) < 2 {
		return id
	}
	return strings.Join(parts[len(parts)-2:], "/")
}

// fluentBit completes a blob of Fluent Bit: PATH/TAG, or PATH/TAG.RANDOM.MILLIS, which may be compressed.
func fluentBit(b *Blob) {
	tag := tagOf(b.Name)
	b.Source = tag
	if b.Service != "" {
		return
	}
	if _, kube, ok := strings.Cut(tag, "containers."); ok {
		if pod, ok := container.ParsePath("/containers/" + kube); ok {
			b.Service, b.Source = pod.Container, pod.Namespace+"/"+pod.Pod+"/"+pod.Container
			return
		}
	}
	b.Service = path.Base(tag)
}

// tagOf is the path and the tag in the name of a blob of Fluent Bit: TAG.RANDOM.MILLIS, of old versions TAG.MILLIS. RANDOM are letters and
// digits, 64 of them unless blob_uri_length says otherwise, so that some are capitals, as hardly any tag has them.
func tagOf(name string) string {
	tag, millis, ok := cutLast(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst"))
	if _, err := strconv.ParseUint(millis, 10, 64); !ok || err != nil || len(millis) < len("999999999999") {
		return name
	}
	rest, random, ok := cutLast(tag)
	if ok && strings.Trim(random, letters+strings.ToUpper(letters)+"0123456789") == "" && strings.ToLower(random) != random {
		return rest
	}
	return tag
}

const letters = "abcdefghijklmnopqrstuvwxyz"

// cutLast cuts the last component of a name at its last dot; not ok if one side would be empty.
func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 1 || i == len(name)-1 || name[i-1] == '/' || strings.IndexByte(name[i:], '/') >= 0 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

// directoryBefore is the directory before the last n bytes of the directories of a name; "" if it is the default of Vector.
func directoryBefore(name string, n int) string {
	dir := path.Dir(name) + "/"
	dir = strings.TrimSuffix(dir[:max(0, len(dir)-n)], "/")
	if dir = path.Base(dir); dir == "blob" || dir == "." || dir == "/" {
		return ""
	}
	return dir
}
