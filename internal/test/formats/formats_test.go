package formats_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/formats"
	"logstow/message/parse"
)

// way is an input that gets all formats at once.
type way struct {
	name string
	run  func(t *testing.T, zone *time.Location, logs []log) [][]got
	// takes reports whether the input can express a format.
	takes func(f *formats.Format) bool
	// network is set if each record is a message of its own.
	network bool
	// same is set if a record without a time has that of the record before.
	same bool
	// none is the time of records without one.
	none time.Time
	// plain is set if the fields are not compared.
	plain bool
}

// ways are the inputs; the first one splits texts into the messages of the network.
func ways() []way {
	runtime, _ := time.Parse(time.RFC3339Nano, runtimeTime)
	lines := func(f *formats.Format) bool { return f.Parts != formats.File }
	whole := func(f *formats.Format) bool { return f.Parts == formats.NoParts }
	unwrapped := func(f *formats.Format) bool { return lines(f) && !f.Wrapped }
	colored := func(f *formats.Format) bool { return whole(f) && !f.Wrapped && !strings.HasPrefix(f.Text, "#") }
	all := []way{
		{name: "files", run: files, takes: lines, same: true},
		{name: "cri", run: criFiles, takes: unwrapped, none: runtime},
		{name: "docker", run: dockerFiles, takes: unwrapped, none: runtime},
		{name: "crlf", run: around("", "\r"), takes: lines, same: true, plain: true},
		{name: "colored", run: around("\x1b[33m", "\x1b[0m"), takes: colored, same: true, plain: true},
		{name: "file", run: queried, takes: func(*formats.Format) bool { return true }, same: true, plain: true},
		{name: "push", run: pushed, takes: whole, network: true},
		{name: "syslog", run: flat(sendSyslog), takes: func(f *formats.Format) bool { return f.Syslog }, network: true},
	}
	for i := range all {
		if all[i].none.IsZero() {
			all[i].none = formats.Now()
		}
	}
	return all
}

// TestFormats passes each format through several inputs: its records must have the same time, level and fields from each.
func TestFormats(t *testing.T) {
	t.Parallel()
	all, err := formats.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 150 {
		t.Fatalf("only %d formats", len(all))
	}
	names := map[string]bool{}
	zones := map[*time.Location][]formats.Format{}
	for _, f := range all {
		if names[f.Name] {
			t.Errorf("%s: there are two", f.Name)
		}
		names[f.Name] = true
		zones[f.Zone] = append(zones[f.Zone], f)
	}
	for zone, all := range zones {
		messages := make([][]string, len(all))
		for i, w := range ways() {
			logs, taken := []log{}, []int{}
			for k := range all {
				if w.takes(&all[k]) {
					logs, taken = append(logs, log{all[k].Text, messages[k]}), append(taken, k)
				}
			}
			if len(logs) == 0 {
				continue
			}
			t.Run(w.name, func(t *testing.T) {
				for n, records := range w.run(t, zone, logs) {
					k := taken[n]
					w.check(t, &all[k], records)
					if i == 0 {
						for _, r := range records {
							messages[k] = append(messages[k], r.message)
						}
					}
				}
			})
		}
	}
}

// TestBehindHeader reads each record of one line behind a header of syslog: it has the same level there.
func TestBehindHeader(t *testing.T) {
	t.Parallel()
	all, err := formats.All()
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(f formats.Format) bool {
		switch f.Name {
		case "indented settings", "json text in braces", "puppet", "android brief", "kube event by kubectl": // a header changes what stands at the start
			return true
		}
		return f.Parts != formats.NoParts || f.Wrapped || f.LevelLater || f.Text[0] == '#' || strings.Count(f.Text, "\n") != len(f.Records)
	})
	if len(all) < 500 {
		t.Fatalf("only %d formats", len(all))
	}
	logs := make([]log, len(all))
	for i, f := range all {
		logs[i].text = f.Text
	}
	for i, records := range around("Nov 20 15:04:05 web-1 app[77]: ", "")(t, time.UTC, logs) {
		if len(records) != len(all[i].Records) {
			t.Errorf("%s: %d records, want %d", all[i].Name, len(records), len(all[i].Records))
			continue
		}
		for k, r := range records {
			if want := all[i].Records[k].Level; r.level != want {
				t.Errorf("%s: record %d has level %s, want %s: %.200q", all[i].Name, k+1, r.level, want, r.message)
			}
		}
	}
}

// check compares the records of an input with those of a format.
func (w *way) check(t *testing.T, f *formats.Format, records []got) {
	t.Helper()
	want := make([]got, len(f.Records))
	for i, r := range f.Records {
		want[i] = got{time: r.Time.UnixNano(), level: r.Level}
		if r.Same && w.same {
			want[i].time = want[i-1].time
		} else if r.Time.IsZero() {
			want[i].time = w.none.UnixNano()
		}
	}
	if w.name == "file" { // as a query sorts them
		want = sorted(want)
	}
	if len(records) != len(want) {
		t.Errorf("%s: %d records, want %d: %.300s", f.Name, len(records), len(want), fmt.Sprintf("%+v", records))
		return
	}
	for i, r := range records {
		if r.time != want[i].time {
			t.Errorf("%s: record %d has time %s, want %s: %.200q", f.Name, i+1, clock(r.time), clock(want[i].time), r.message)
		}
		if r.level != want[i].level && !f.LevelLater && (!w.network || !f.NoNetworkFields) {
			t.Errorf("%s: record %d has level %s, want %s: %.200q", f.Name, i+1, r.level, want[i].level, r.message)
		}
	}
	if !f.FieldsLater && (!w.network || !f.NoNetworkFields) && !w.plain {
		checkFields(t, f, records)
	}
}

func clock(nanos int64) string { return time.Unix(0, nanos).UTC().Format(time.RFC3339Nano) }

// checkFields compares the fields of the first record that has any with those of a format.
func checkFields(t *testing.T, f *formats.Format, records []got) {
	t.Helper()
	if len(f.Fields) == 0 || len(records) == 0 {
		return
	}
	parser, err := parse.CompileStored(records[len(records)-1].parse)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(f.Fields))
	for i, field := range f.Fields {
		names[i] = field.Name
	}
	splitter := parser.Splitter(names...)
	r := slices.IndexFunc(records, func(r got) bool { return !strings.HasPrefix(r.message, "#") })
	splitter.Split(nil, []byte(records[max(r, 0)].message))
	for i, field := range f.Fields {
		if value := string(splitter.Value(i).Text); value != field.Value {
			t.Errorf("%s: field %s is %q, want %q: %.200q", f.Name, field.Name, value, field.Value, records[max(r, 0)].message)
		}
	}
}
