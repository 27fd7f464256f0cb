package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/internal/test/storetest"
	"logstow/store"
	"logstow/store/azure"
)

// forgingAttack is what a hostile shipper does to the logs of a service of its own name, with a credential that may create blobs in the raw
// container and nothing else. The records of all other shippers must be printed once, before and after compaction.
type forgingAttack struct {
	name  string
	forge func(*forgery)
	// stages are those at which it makes sense; nil is all.
	stages []string
	// adds is the number of forged records that are printed besides: a shipper may add any records. claims is set if counts include
	// records that only metadata claim.
	adds   int
	claims bool
	// status has the exit statuses of logq query before compaction and after the removal of inputs, a digit each; "" is 00. says has a
	// part of its messages, if there is one.
	status      string
	says, later string
	// verify has the kinds of differences that shipper verify --full prints of the forged blobs, in order.
	verify string
}

// The stages at which the attacks take place: before the honest segments are compacted; when they are in an output, and still stored;
// and when they are removed.
const (
	stagePlain   = "plain"
	stageMerged  = "merged"
	stageRemoved = "removed"
)

// honestWord is in each honest record, and in no other.
const honestWord = " of pod-"

// The messages of logq query about forged blobs.
const (
	notRead     = "differs from it: it is not read"
	otherPeriod = "the times in its metadata are not in the period of its name"
	notNamed    = "not segments and not read"
)

// otherService begins the name of a service that has forged blobs only.
const otherService = "evil-"

// searched is an identifier that one record of each honest segment has.
const searched = "order-7000001"

// forgeries is a store with a service for each attack.
type forgeries struct {
	target
	t       *testing.T
	stage   string
	forged  bool
	extra   []string // arguments of logq
	attacks []forgingAttack
	owner   *azure.Store
	day     time.Time
	// create is a signature that allows creating blobs in the raw container.
	create string
	// want has the honest records as text, by service, in order of time.
	want map[string][]string
	// honest are the segments as they were shipped, by service.
	honest map[string][]stored
}

// stored is a blob with its content.
type stored struct {
	store.Blob
	body []byte
}

// forgery is an attack in progress.
type forgery struct {
	*forgeries
	service string
	honest  []stored
}

func stages() []string { return []string{stagePlain, stageMerged, stageRemoved} }

// newForgeries ships logs of two shippers for each attack, and compacts them up to the stage.
func newForgeries(t *testing.T, stage string, attacks []forgingAttack) *forgeries {
	t.Helper()
	f := &forgeries{target: azuriteTarget(t), t: t, stage: stage, day: time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -2), want: map[string][]string{}, honest: map[string][]stored{}}
	for _, a := range attacks {
		if a.stages == nil || slices.Contains(a.stages, stage) {
			f.attacks = append(f.attacks, a)
		}
	}
	f.owner = ownerOf(t, f.target)
	f.ship()
	for _, b := range f.list(f.owner.Blobs()) {
		name, err := blobnaming.Parse(b.Name)
		if err != nil {
			t.Fatal(err)
		}
		body, err := f.owner.Blobs().Read(t.Context(), b.Ref(), 0, b.Size)
		if err != nil {
			t.Fatal(err)
		}
		f.honest[name.Service] = append(f.honest[name.Service], stored{b, body})
	}
	switch stage {
	case stageMerged:
		f.compact("--keep-inputs")
	case stageRemoved:
		f.compact()
		f.compact()
	}
	f.create = f.sign("c")
	return f
}

// sign makes a signature for the raw container.
func (f *forgeries) sign(permissions string) string {
	f.t.Helper()
	sas, err := f.owner.SignBlobs(f.t.Context(), f.owner.Container(), "", permissions, time.Now().Add(time.Hour))
	if err != nil {
		f.t.Fatal(err)
	}
	return sas.Reveal()
}

// ownerOf opens an Azurite store with the account's key.
func ownerOf(t *testing.T, s target) *azure.Store {
	t.Helper()
	_, connection, _ := strings.Cut(s.env[0], "=")
	cred, err := azure.FromEnv(func(name string) string {
		return map[string]string{"AZURE_STORAGE_CONNECTION_STRING": connection}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	owner, err := azure.Open(t.Context(), azure.Options{Container: strings.TrimPrefix(s.store, "azblob://"), Credential: cred})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Close(t, owner)
	return owner
}

// ship ships the honest logs.
func (f *forgeries) ship() {
	f.t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, pod := range []string{"pod-1", "pod-2"} {
		dir := f.t.TempDir()
		var config strings.Builder
		fmt.Fprintf(&config, "store: %s\ninstance: %s\nbucket: 30m\nbuffer: {dir: %s}\ninputs:\n", f.store, pod, filepath.Join(dir, "buffer"))
		for _, a := range f.attacks {
			path := filepath.Join(dir, a.name)
			var log strings.Builder
			for i := range 120 { // in two buckets, 8 kB each
				at := f.day.Add(10*time.Hour + 30*time.Minute + time.Duration(i)*20*time.Second)
				level, id := "INFO", fmt.Sprintf("order-%07d", rnd.IntN(1e6))
				if i%10 == 3 {
					level = "ERROR"
				}
				if i%60 == 33 {
					id = searched
				}
				line := fmt.Sprintf("%s %s %s"+honestWord+"%s %016x%016x%016x%016x", at.Format("2006-01-02T15:04:05Z"), level, id, strings.TrimPrefix(pod, "pod-"), rnd.Uint64(), rnd.Uint64(), rnd.Uint64(), rnd.Uint64())
				fmt.Fprintln(&log, line)
				f.want[a.name] = append(f.want[a.name], strings.Join([]string{blobnaming.FormatTime(at.UnixNano()), level, a.name, line}, "\t"))
			}
			if err := os.WriteFile(path, []byte(log.String()), 0o600); err != nil {
				f.t.Fatal(err)
			}
			fmt.Fprintf(&config, "  - {files: %s, service: %s}\n", path, a.name)
		}
		file := filepath.Join(dir, "shipper.yaml")
		if err := os.WriteFile(file, []byte(config.String()), 0o600); err != nil {
			f.t.Fatal(err)
		}
		f.must(f.t, "shipper", "run", "--once", "--config", file)
	}
	for _, lines := range f.want {
		slices.Sort(lines)
	}
}

// compact compacts everything, and removes what it may.
func (f *forgeries) compact(more ...string) {
	f.t.Helper()
	f.must(f.t, append([]string{"shipper", "compact", "--grace", "0s"}, more...)...)
}

// list lists a container.
func (f *forgeries) list(blobs store.BlobReader) (all []store.Blob) {
	f.t.Helper()
	for page, err := range blobs.List(f.t.Context(), "") {
		if err != nil {
			f.t.Fatal(err)
		}
		all = append(all, page...)
	}
	return all
}

// forge runs the attacks.
func (f *forgeries) forge() {
	f.t.Helper()
	f.forged = true
	for _, a := range f.attacks {
		a.forge(&forgery{forgeries: f, service: a.name, honest: f.honest[a.name]})
	}
}

// checkServices queries one service after the other: each honest record is printed once, byte for byte, and the forged blobs are
// reported as documented.
func (f *forgeries) checkServices(phase string) {
	f.t.Helper()
	if f.stage == stageMerged {
		return // between the others
	}
	for _, a := range f.attacks {
		status, says := cmp.Or(a.status, "00")[0], a.says
		if f.stage == stageRemoved {
			status, says = cmp.Or(a.status, "00")[1], a.later
		}
		r := f.command(f.t, nil, "logq", "query", "-s", a.name, "--from", f.day.Format(time.DateOnly), "--to", f.day.AddDate(0, 0, 1).Format(time.DateOnly), "-o", "text", "--no-cache")
		var honest []string
		forged := 0
		for line := range strings.Lines(string(r.out)) {
			if strings.Contains(line, honestWord) {
				honest = append(honest, strings.TrimSuffix(line, "\n"))
			} else {
				forged++
			}
		}
		f.compare(phase+", query -s "+a.name, slices.Sorted(slices.Values(honest)), f.want[a.name])
		if forged != a.adds || r.status != int(status-'0') || says == "" && r.errs != "" || !strings.Contains(r.errs, says) {
			f.t.Errorf("%s, %s: status %d, %d forged records; want status %c, %d records and %q in:\n%s", phase, a.name, r.status, forged, status, a.adds, says, r.errs)
		}
	}
}

// check asks about all services at once, in several ways. Nothing but the answers matters.
func (f *forgeries) check(phase string, more ...string) {
	f.t.Helper()
	var wait sync.WaitGroup
	defer wait.Wait()
	for name, c := range map[string]struct {
		args   []string
		wanted func(line string) bool
	}{
		"scan":   {nil, func(string) bool { return true }},
		"search": {[]string{searched}, func(line string) bool { return strings.Contains(line, searched) }},
		"level":  {[]string{"-l", "error+"}, func(line string) bool { return strings.Contains(line, "\tERROR\t") }},
	} {
		if name == "level" && len(more) > 0 {
			continue
		}
		wait.Go(func() {
			got := f.query(append(c.args, more...)...)
			for _, a := range f.attacks {
				want := slices.DeleteFunc(slices.Clone(f.want[a.name]), func(line string) bool { return !c.wanted(line) })
				f.compare(phase+", "+name+" of "+a.name, got[a.name], want)
				delete(got, a.name)
			}
			for service, lines := range got {
				if len(lines) > 0 {
					f.t.Errorf("%s, %s: service %s has %d honest records of others, the first: %s", phase, name, service, len(lines), lines[0])
				}
			}
		})
	}
	if len(more) > 0 {
		return
	}
	wait.Go(func() {
		if len(f.extra) == 0 {
			return
		}
		got := f.counts("-l", "info")
		for _, a := range f.attacks {
			n := len(slices.DeleteFunc(slices.Clone(f.want[a.name]), func(line string) bool { return !strings.Contains(line, "\tINFO\t") }))
			if got[a.name]["INFO"] < n {
				f.t.Errorf("%s, stats -l info of %s: %v, want %d", phase, a.name, got[a.name], n)
			}
		}
	})
	wait.Go(func() {
		got := f.counts()
		for _, a := range f.attacks {
			want := map[string]int{}
			for _, line := range f.want[a.name] {
				want[strings.Split(line, "\t")[1]]++
			}
			if f.forged && !a.claims {
				want["INFO"] += a.adds
			}
			for level, n := range want { // of each level at least so many
				exactly := !a.claims || !f.forged
				if got[a.name][level] < n || exactly && !maps.Equal(got[a.name], want) {
					f.t.Errorf("%s, stats of %s: %v, want %v", phase, a.name, got[a.name], want)
				}
			}
		}
	})
}

// query returns the honest records that a query prints as text, by service, in order of time.
func (f *forgeries) query(more ...string) map[string][]string {
	f.t.Helper()
	r := f.command(f.t, nil, append([]string{"logq", "query", "--from", f.day.Format(time.DateOnly), "--to", f.day.AddDate(0, 0, 1).Format(time.DateOnly), "-o", "json", "--no-cache"}, append(slices.Clone(f.extra), more...)...)...)
	if r.status != 0 && r.status != 3 {
		f.t.Errorf("%v: status %d, standard error:\n%s", more, r.status, r.errs)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(r.out)) {
		var v struct{ Time, Level, Service, Source, Message string }
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			f.t.Errorf("%q: %v", line, err)
		}
		if strings.Contains(v.Message, honestWord) {
			all[v.Service] = append(all[v.Service], strings.Join([]string{v.Time, v.Level, v.Source, v.Message}, "\t"))
		}
	}
	for _, lines := range all {
		slices.Sort(lines)
	}
	return all
}

// counts returns the numbers of records by service and level.
func (f *forgeries) counts(more ...string) map[string]map[string]int {
	f.t.Helper()
	r := f.command(f.t, nil, append([]string{"logq", "stats", "--from", f.day.Format(time.DateOnly), "--to", f.day.AddDate(0, 0, 1).Format(time.DateOnly), "--by", "service,level", "-o", "csv", "--no-cache"}, append(slices.Clone(f.extra), more...)...)...)
	rows, err := csv.NewReader(bytes.NewReader(r.out)).ReadAll()
	if err != nil || len(rows) == 0 {
		f.t.Errorf("stats: status %d, %v, standard error:\n%s", r.status, err, r.errs)
		return nil
	}
	counts := map[string]map[string]int{}
	for _, row := range rows[1:] {
		n, err := strconv.Atoi(row[2])
		if err != nil {
			f.t.Error(err)
		}
		if counts[row[0]] == nil {
			counts[row[0]] = map[string]int{}
		}
		counts[row[0]][strings.ToUpper(row[1])] += n
	}
	return counts
}

// compare compares lines in order.
func (f *forgeries) compare(what string, got, want []string) {
	f.t.Helper()
	if slices.Equal(got, want) {
		return
	}
	times := map[string]int{}
	for _, line := range got {
		times[line]++
	}
	hidden, doubled := 0, 0
	for _, line := range want {
		switch times[line] {
		case 0:
			hidden++
		case 1:
		default:
			doubled++
		}
		delete(times, line)
	}
	f.t.Errorf("%s: %d lines, want %d: %d are hidden, %d doubled, %d others %.150q", what, len(got), len(want), hidden, doubled, len(times), slices.Sorted(maps.Keys(times)))
}

// checkStored checks that each honest segment is stored, or in an output; after compaction that it is in an output.
func (f *forgeries) checkStored(phase string, compacted bool) {
	f.t.Helper()
	left := map[string]bool{}
	for _, b := range f.list(f.owner.Blobs()) {
		left[b.Name+" "+b.ETag] = true
	}
	type key struct {
		service string
		id      catalog.Identity
	}
	in := map[key]bool{}
	for page, err := range (&catalog.Catalog{Blobs: f.owner.Blobs(), Compacted: f.owner.Compacted()}).Outputs(f.t.Context(), "", time.Time{}, time.Time{}) {
		if err != nil {
			f.t.Fatal(err)
		}
		for _, e := range page {
			if e.Kind != catalog.KindOutput {
				continue
			}
			o, err := catalog.ReadOutput(f.t.Context(), func(ctx context.Context, off, n int64) ([]byte, error) {
				return f.owner.Compacted().Read(ctx, e.Ref(), off, n)
			}, e.Segment)
			if err != nil || o.Err != nil {
				f.t.Fatal(err, o.Err)
			}
			for _, input := range o.Inputs {
				in[key{e.Name.Service, catalog.IdentityOf(input)}] = true
			}
		}
	}
	for service, segments := range f.honest {
		for _, s := range segments {
			e := catalog.RawEntry(&s.Blob)
			stored, merged := left[s.Name+" "+s.ETag], in[key{service, e.Identity()}]
			if !stored && !merged || compacted && (stored || !merged) {
				f.t.Errorf("%s: %s is stored: %t, in an output: %t", phase, s.Name, stored, merged)
			}
		}
	}
}

// differences returns the kinds of the differences of shipper verify by service. None is of an honest segment.
func (f *forgeries) differences(phase string, more ...string) map[string]string {
	f.t.Helper()
	all, honest := f.differencesOf(phase, more...)
	if len(honest) > 0 && f.stage != stageRemoved {
		f.t.Errorf("%s: verify %v reports honest segments: %q", phase, more, honest)
	}
	return all
}

// differencesOf returns the kinds of the differences of shipper verify by service, and the differences of honest segments.
func (f *forgeries) differencesOf(phase string, more ...string) (byService map[string]string, ofHonest []string) {
	f.t.Helper()
	r := f.command(f.t, nil, append([]string{"shipper", "verify", "-o", "json"}, more...)...)
	if r.status != 0 && r.status != 3 {
		f.t.Errorf("%s: verify %v: status %d, standard error:\n%s", phase, more, r.status, r.errs)
	}
	honest := map[string]bool{}
	for _, segments := range f.honest {
		for _, s := range segments {
			honest[s.Name] = true
		}
	}
	kinds := map[string]map[string]bool{}
	some := false
	for line := range strings.Lines(string(r.out)) {
		var d struct{ Kind, Object, Text string }
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			f.t.Error(err)
		}
		if d.Kind == "" {
			continue // the report
		}
		some = true
		service := strings.TrimPrefix(d.Object, otherService) // a name, or the partition of an entity that names none
		service = service[:strings.IndexAny(service, "/|")]
		if honest[d.Object] {
			ofHonest = append(ofHonest, line)
		}
		if kinds[service] == nil {
			kinds[service] = map[string]bool{}
		}
		kinds[service][d.Kind] = true
	}
	if some != (r.status == 3) {
		f.t.Errorf("%s: verify %v: status %d, differences %v, standard error:\n%s", phase, more, r.status, kinds, r.errs)
	}
	byService = map[string]string{}
	for service, set := range kinds {
		byService[service] = strings.Join(slices.Sorted(maps.Keys(set)), " ")
	}
	return byService, ofHonest
}
