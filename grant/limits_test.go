package grant_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/grant"
	"logstow/internal/hint"
	"logstow/internal/test/testrand"
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
	var others []tableindex.Entity
	for _, name := range []string{"api-v2", "api.v2", "api_v2", "api0", "apis", "ap"} {
		others = append(others, put(t, s, name, "", now, "not mine"))
	}
	if _, err := grant.Make(t.Context(), s.Store, request(grant.Read, "api")); !errors.As(err, new(*grant.TooWideError)) {
		t.Errorf("a grant for the container of all: %v, want a TooWideError", err)
	}
	r := request(grant.Read, "api")
	r.From = now.AddDate(-2, 0, 0) // the service's own directory, and no deeper one
	g, err := grant.Make(t.Context(), s, r)
	if err != nil || g.Directory != "api" {
		t.Fatalf("got %v, %v", g, err)
	}
	reader := open(t, written(t, g))
	from, to := now.Add(-time.Hour), now.Add(time.Hour)
	for _, other := range others {
		for what, err := range map[string]error{
			"read": func() error {
				_, err := reader.Blobs().Read(t.Context(), store.BlobRef{Name: other.Name.String()}, 0, 1)
				return err
			}(),
			"list":            drain(reader.Blobs().List(t.Context(), other.Name.Service+"/")),
			"list its day":    drain(reader.Blobs().List(t.Context(), other.Name.String()[:len(other.Name.Service)+11])),
			"query partition": drain(reader.Tables().Query(t.Context(), other.Table(s.Container()), store.Query{Partition: other.Key().Partition})),
		} {
			if !errors.Is(err, store.ErrAccessDenied) || !strings.Contains(hint.Text(err), " only") {
				t.Errorf("%s of %s: got %v, want ErrAccessDenied", what, other.Name.Service, err)
			}
		}
		for _, plan := range []string{"list", "index"} {
			messages, problems := ask(t, reader, plan, from, to, other.Name.Service)
			if messages != nil || !errors.Is(errors.Join(problems...), store.ErrAccessDenied) {
				t.Errorf("plan %s of %s: found %v, problems %v, want ErrAccessDenied", plan, other.Name.Service, messages, problems)
			}
		}
	}
}

// TestTooWideOne: one neighbour whose name begins with the service's is enough.
func TestTooWideOne(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"api-v2", "ap", "api.old", "notes.txt", "api"} {
		s := owner(t)
		put(t, s, "api", "", time.Now(), "mine")
		if other == "notes.txt" || other == "api" { // a blob that is no log
			if _, err := s.Blobs().Create(t.Context(), other, []byte("not mine"), store.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		} else {
			put(t, s, other, "", time.Now(), "not mine")
		}
		_, err := grant.Make(t.Context(), s, request(grant.Read, "api"))
		var wide *grant.TooWideError
		if !errors.As(err, &wide) || wide.Other != other {
			t.Errorf("beside %s: got %v, want a TooWideError", other, err)
		}
	}
}

// TestPartitions: between the first and last partition of a service that are signed are
// all of its own and no other's, whatever both are called.
func TestPartitions(t *testing.T) {
	t.Parallel()
	random := testrand.New(t)
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
			entity := func(service string) string {
				e := tableindex.Entity{
					Name: blobnaming.Name{Service: service, Bucket: time.Unix(0, 0), Number: 1},
					Meta: blobnaming.Metadata{Instance: fmt.Sprintf("pod-%d", i)},
				}
				if i == 0 {
					e.Name, e.Meta.Origins = blobnaming.OutputName(service, time.Unix(0, 0), "", 1), 1
				}
				return e.Key().Partition
			}
			if p := entity(service); p < first || p > last || !tableindex.OfService(p, service) {
				t.Fatalf("%s: partition %s is not from %s to %s", service, p, first, last)
			}
			if p := entity(other); other != service && (p >= first && p <= last || tableindex.OfService(p, service)) {
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
			want := slices.Clone(tt.want)
			if kind == grant.Read { // compaction may create these during the grant
				for n := -2; n <= 2; n++ {
					if slices.Contains(tt.want, table(n)) {
						want = append(want, tableindex.TableName(store.CompactedContainer(s.Container()), "", day.AddDate(0, 0, n)))
					}
				}
				slices.Sort(want)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s, %s: tables %v, want %v", tt.name, kind, got, want)
			}
		}
	}
}

// TestCovers: what is outside of the days that a grant has tables for is refused when
// the index is queried, and not taken for empty.
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
		tables := open(t, written(t, g)).Tables()
		return func(from, to time.Time) error { return store.Covers(tables, from, to) }
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
		if tt.refused != errors.Is(err, store.ErrAccessDenied) || !tt.refused && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if tt.refused && !strings.Contains(hint.Text(err), "--plan list") {
			t.Errorf("%s: %v does not contain what to do", tt.name, err)
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
	if !errors.Is(err, store.ErrAccessDenied) || !strings.Contains(hint.Text(err), path+" expired at "+g.Expires.UTC().Format(time.RFC3339)) {
		t.Errorf("got %v, want ErrAccessDenied and when it expired", err)
	}
}

// asked is an account whose kind cannot be read.
type asked struct{ *azure.Store }

func (asked) Hierarchical(context.Context) (bool, error) {
	return false, &store.Error{Op: "read", Object: "properties", Class: store.ErrAccessDenied}
}

// TestHierarchicalUndetected: without a response nothing is signed, and the error has advice.
func TestHierarchicalUndetected(t *testing.T) {
	t.Parallel()
	g, err := grant.Make(t.Context(), asked{owner(t)}, request(grant.Read, "api"))
	if g != nil || !errors.Is(err, store.ErrAccessDenied) || !strings.Contains(hint.Text(err), "--hierarchical yes or no") {
		t.Errorf("got %v, %v, want ErrAccessDenied", g, err)
	}
}

// blind is a container that its identity may write to and sign for, but not list.
type blind struct{ hierarchical }

func (blind) Now(context.Context) (time.Time, error) {
	return time.Time{}, &store.Error{Op: "list", Object: "blobs", Class: store.ErrAccessDenied}
}

// TestCreateBlind: a credential that signs for a shipper need not be able to list.
func TestCreateBlind(t *testing.T) {
	t.Parallel()
	makeGrant(t, blind{hierarchical{owner(t)}}, grant.Create, "api")
}

// TestExpiresInTime: the end that is signed has no fraction of a second, so one of less
// than a second is none.
func TestExpiresInTime(t *testing.T) {
	t.Parallel()
	s := hierarchical{owner(t)}
	for range 3 { // in some second the end is in the same
		r := request(grant.Read, "api")
		now := time.Now()
		r.Expires = now.Truncate(time.Second).Add(time.Second - 1)
		if g, err := grant.Make(t.Context(), s, r); !errors.Is(err, store.ErrInvalid) && time.Now().Truncate(time.Second).Equal(now.Truncate(time.Second)) {
			t.Errorf("at %v: got %v, %v, want ErrInvalid", now, g, err)
		}
	}
}

// TestClassesToCome: a day without a table yet has those of the class without a name
// and of each that there is, a past day those that there are.
func TestClassesToCome(t *testing.T) {
	t.Parallel()
	s := owner(t)
	now := time.Now().UTC()
	put(t, s, "api", "audit", now.AddDate(0, 0, -40), "long ago")
	r := request(grant.Read, "api")
	r.From = now.AddDate(0, 0, -60)
	g, err := grant.Make(t.Context(), s, r)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		tableindex.TableName(s.Container(), "", now): true, tableindex.TableName(s.Container(), "audit", now): true,
		tableindex.TableName(s.Container(), "audit", now.AddDate(0, 0, -40)): true, tableindex.TableName(s.Container(), "", now.AddDate(0, 0, -40)): false,
		tableindex.TableName(s.Container(), "audit", now.AddDate(0, 0, -39)): false,
	} {
		if g.Tables[name].Set() != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	// Of a container without any table there is nothing but the class without a name.
	empty := owner(t)
	g = makeGrant(t, hierarchical{empty}, grant.Read, "api")
	if !g.Tables[tableindex.TableName(empty.Container(), "", now)].Set() {
		t.Error("no table for today")
	}
}

// TestWholeTables: what looks at a table as a whole, as shipper verify does, gets the
// service's part; tables of another container there are none.
func TestWholeTables(t *testing.T) {
	t.Parallel()
	s := owner(t)
	entity := put(t, s, "api", "", time.Now(), "hello")
	reader := open(t, written(t, makeGrant(t, s, grant.Read, "api")))
	services, err := tableindex.Services(t.Context(), reader.Tables(), entity.Table(s.Container()))
	if err != nil || !slices.Equal(services, []string{"api"}) {
		t.Errorf("services %v, %v", services, err)
	}
	if all, err := tableindex.Tables(t.Context(), reader.Tables(), s.Container()); err != nil || len(all) < 2 {
		t.Errorf("%d tables, %v, want those of yesterday and today", len(all), err)
	}
	for names, err := range reader.Tables().Tables(t.Context(), "segmentsx") {
		t.Errorf("got %v, %v, want none", names, err)
	}
}
