package grant_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/grant"
	"logstow/store"
	"logstow/store/azure"
	"logstow/tableindex"
)

// TestNeighbours: of services whose names begin alike, none is inside of another's grant.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	s := hierarchical{owner(t)}
	now := time.Now()
	put(t, s, "api", "", now, "mine")
	var others []tableindex.Row
	for _, name := range []string{"api-v2", "api.v2", "api_v2", "api0", "apis", "ap"} {
		others = append(others, put(t, s, name, "", now, "not mine"))
	}
	g := makeGrant(t, s, grant.Read, "api")
	reader := open(t, written(t, g))
	from, to := now.Add(-time.Hour), now.Add(time.Hour)
	for _, other := range others {
		for what, err := range map[string]error{
			"read":            func() error { _, err := reader.Blobs().Read(t.Context(), other.Name.String(), 0, 1); return err }(),
			"list":            drain(reader.Blobs().List(t.Context(), other.Name.Service+"/")),
			"list its day":    drain(reader.Blobs().List(t.Context(), other.Name.String()[:len(other.Name.Service)+11])),
			"query partition": drain(reader.Tables().Query(t.Context(), other.Table(s.Container()), store.Query{Partition: other.Key().Partition})),
		} {
			if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), " only") {
				t.Errorf("%s of %s: got %v, want ErrRefused", what, other.Name.Service, err)
			}
		}
		for _, plan := range []string{"list", "index"} {
			messages, problems := ask(t, reader, plan, from, to, other.Name.Service)
			if messages != nil || !errors.Is(errors.Join(problems...), store.ErrRefused) {
				t.Errorf("plan %s of %s: found %v, problems %v, want ErrRefused", plan, other.Name.Service, messages, problems)
			}
		}
	}
}

// TestPartitions: between the first and last partition of a service that are signed are
// all of its own and no other's, whatever both are called.
func TestPartitions(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // names
	name := func() string {
		const inner = "az09._-"
		b := []byte{inner[random.IntN(4)]}
		for range random.IntN(4) {
			b = append(b, inner[random.IntN(len(inner))])
		}
		return string(append(b, inner[random.IntN(4)]))
	}
	for range 2000 {
		service, other := name(), name()
		if random.IntN(2) == 0 {
			other = service + other
		}
		first, last := tableindex.Partitions(service)
		for i := range 100 {
			row := func(service string) string {
				return tableindex.Row{
					Name: blobnaming.Name{Service: service, Bucket: time.Unix(0, 0), Number: 1},
					Meta: blobnaming.Metadata{Instance: fmt.Sprintf("pod-%d", i)},
				}.Key().Partition
			}
			if p := row(service); p < first || p > last || !tableindex.OfService(p, service) {
				t.Fatalf("%s: partition %s is not from %s to %s", service, p, first, last)
			}
			if p := row(other); other != service && (p >= first && p <= last || tableindex.OfService(p, service)) {
				t.Fatalf("%s: partition %s of %s is from %s to %s", service, p, other, first, last)
			}
		}
	}
}

// TestEdgesOfDays: the tables of a range are those of the UTC days that it touches.
func TestEdgesOfDays(t *testing.T) {
	t.Parallel()
	s := owner(t)
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -3)
	table := func(n int) string { return tableindex.TableName(s.Container(), "", day.AddDate(0, 0, n)) }
	for n := -2; n <= 2; n++ {
		put(t, s, "api", "", day.AddDate(0, 0, n), "hello")
	}
	for _, tt := range []struct {
		name     string
		from, to time.Time
		want     []string
	}{
		{"a day", day, day.AddDate(0, 0, 1), []string{table(0)}},
		{"its first nanosecond", day, day.Add(1), []string{table(0)}},
		{"its last nanosecond", day.Add(-1), day, []string{table(-1)}},
		{"around midnight", day.Add(-1), day.Add(1), []string{table(-1), table(0)}},
		{"in another zone", day.In(time.FixedZone("", 14*3600)), day.Add(time.Hour).In(time.FixedZone("", -12*3600)), []string{table(0)}},
		{"two and a bit", day, day.AddDate(0, 0, 2).Add(1), []string{table(0), table(1), table(2)}},
	} {
		for _, kind := range []grant.Kind{grant.Read, grant.Create} {
			r := request(kind, "api")
			r.From, r.To, r.Classes = tt.from, tt.to, nil
			if kind == grant.Create {
				r.Classes = []string{""}
			}
			g, err := grant.Make(t.Context(), s, r)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for name := range g.Tables {
				got = append(got, name)
			}
			if slices.Sort(got); !slices.Equal(got, tt.want) {
				t.Errorf("%s, %s: tables %v, want %v", tt.name, kind, got, tt.want)
			}
		}
	}
}

// TestCovers: what is outside of the days that a grant has tables for is refused when
// the index is asked, and not taken for empty.
func TestCovers(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	today := now.Truncate(24 * time.Hour)
	s := owner(t)
	put(t, s, "api", "", now, "hello")
	r := request(grant.Read, "api")
	covers := func(r grant.Request) func(from, to time.Time) error {
		g, err := grant.Make(t.Context(), s, r)
		if err != nil {
			t.Fatal(err)
		}
		limited, ok := open(t, written(t, g)).Tables().(interface {
			Covers(from, to time.Time) error
		})
		if !ok {
			t.Fatal("the tables of a grant do not say what they cover")
		}
		return limited.Covers
	}
	r.From, r.To = now.AddDate(0, 0, -2), r.Expires
	open, past := covers(r), r
	past.From, past.To = today.AddDate(0, 0, -9).Add(time.Hour), today.AddDate(0, 0, -7).Add(time.Hour)
	closed := covers(past)
	for _, tt := range []struct {
		name     string
		covers   func(from, to time.Time) error
		from, to time.Time
		refused  bool
	}{
		{"inside", open, now.Add(-time.Hour), now, false},
		{"what is to come", open, now.Add(-time.Hour), now.AddDate(1, 0, 0), false},
		{"the whole first day", open, today.AddDate(0, 0, -2), now, false},
		{"before it", open, today.AddDate(0, 0, -2).Add(-1), now, true},
		{"the whole past days", closed, today.AddDate(0, 0, -9), today.AddDate(0, 0, -6), false},
		{"after them", closed, today.AddDate(0, 0, -9), today.AddDate(0, 0, -6).Add(1), true},
	} {
		err := tt.covers(tt.from, tt.to)
		if tt.refused != errors.Is(err, store.ErrRefused) || !tt.refused && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if tt.refused && !strings.Contains(err.Error(), "--plan list") {
			t.Errorf("%s: %v does not say what to do", tt.name, err)
		}
	}
}

// TestEndedServices: the service of a grant that is over is not listed from memory.
func TestEndedServices(t *testing.T) {
	t.Parallel()
	s := owner(t)
	put(t, s, "api", "", time.Now(), "hello")
	g := makeGrant(t, s, grant.Read, "api")
	g.Expires = time.Now().Add(-time.Minute)
	path := written(t, g)
	err := drain(open(t, path).Blobs().ListPrefixes(t.Context(), ""))
	if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), path+" expired at "+g.Expires.UTC().Format(time.RFC3339)) {
		t.Errorf("got %v, want ErrRefused and when it expired", err)
	}
}

// asked is an account that can not say what it is.
type asked struct{ *azure.Store }

func (asked) Hierarchical(context.Context) (bool, error) {
	return false, &store.Error{Op: "read", Object: "properties", Class: store.ErrRefused}
}

// TestAskedInVain: without an answer nothing is signed, but what to say is told.
func TestAskedInVain(t *testing.T) {
	t.Parallel()
	g, err := grant.Make(t.Context(), asked{owner(t)}, request(grant.Read, "api"))
	if g != nil || !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "--hierarchical yes or no") {
		t.Errorf("got %v, %v, want ErrRefused", g, err)
	}
}
