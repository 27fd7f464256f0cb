package grant_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/grant"
	"logstow/internal/hint"
	"logstow/store"
	"logstow/store/azure"
	"logstow/tableindex"
)

// hierarchical is a store whose account has a hierarchical namespace, which Azurite has not.
type hierarchical struct{ *azure.Store }

func (hierarchical) Hierarchical(context.Context) (bool, error) { return true, nil }

// TestFields compares every field that is signed with what was requested: nothing wider.
func TestFields(t *testing.T) {
	t.Parallel()
	plain := func(s *azure.Store) grant.Issuer { return s }
	directories := func(s *azure.Store) grant.Issuer { return hierarchical{s} }
	tests := []struct {
		name    string
		account func(*azure.Store) grant.Issuer
		kind    grant.Kind
		blobs   map[string]string
		table   map[string]string
	}{
		{
			"container to read", plain, grant.Read,
			map[string]string{"sp": "rl", "sr": "c", "spr": "https,http"},
			map[string]string{"sp": "r"},
		},
		{
			"directory to read", directories, grant.Read,
			map[string]string{"sp": "rl", "sr": "d", "spr": "https,http"},
			map[string]string{"sp": "r"},
		},
		{
			"container to create", plain, grant.Create,
			map[string]string{"sp": "c", "sr": "c", "spr": "https,http"},
			map[string]string{"sp": "au"},
		},
		{
			"directory to create", directories, grant.Create,
			map[string]string{"sp": "c", "sr": "d", "sdd": "1", "spr": "https,http"},
			map[string]string{"sp": "au"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := owner(t)
			r := request(tt.kind, "api")
			at := r.From.Add(48 * time.Hour).UTC()
			put(t, s, "api", "", at, "hello")
			put(t, s, "api", "audit", at.Add(-24*time.Hour), "hello")
			put(t, s, "api", "", at.Add(-20*24*time.Hour), "out of range")
			g, err := grant.Make(t.Context(), tt.account(s), r)
			if err != nil {
				t.Fatal(err)
			}
			end := r.Expires.UTC().Truncate(time.Second).Format(time.RFC3339)
			got := fields(t, g.Blobs)
			tt.blobs["se"], tt.blobs["sv"] = end, got["sv"]
			if tt.blobs["sr"] == "d" && tt.kind == grant.Read { // of the directory that holds the range, which depends on the date
				tt.blobs["sdd"] = map[int]string{0: "1", 1: "2", 2: "3", 3: "4"}[strings.Count(g.Directory, "/")]
			}
			if diff := cmp.Diff(tt.blobs, got); diff != "" {
				t.Errorf("blobs (-want +got):\n%s", diff)
			}
			if g.Compacted.Set() != (tt.kind == grant.Read) || g.Compacted.Reveal() == g.Blobs.Reveal() {
				t.Errorf("signature for outputs of compaction: %v", g.Compacted.Set())
			}
			if tt.kind == grant.Read {
				if diff := cmp.Diff(tt.blobs, fields(t, g.Compacted)); diff != "" {
					t.Errorf("outputs of compaction (-want +got):\n%s", diff)
				}
			}
			if len(g.Tables) == 0 {
				t.Error("no tables")
			}
			for name, sas := range g.Tables {
				want := maps.Clone(tt.table)
				want["tn"], want["spk"], want["epk"], want["se"], want["spr"], want["sv"] = name, "api|00", "api|0f", end, "https,http", "2019-02-02"
				if diff := cmp.Diff(want, fields(t, sas)); diff != "" {
					t.Errorf("table %s (-want +got):\n%s", name, diff)
				}
			}
			// The days of the range, those of records that there are and those to come, and no other.
			want := map[string]bool{}
			for _, day := range []time.Time{r.From, r.From.Add(24 * time.Hour), at, r.Expires} {
				for _, class := range []string{"", "audit"} {
					want[tableindex.TableName(s.Container(), class, day)] = tt.kind == grant.Create || day.After(at.Add(-25*time.Hour))
					if tt.kind == grant.Read {
						want[tableindex.TableName(store.CompactedContainer(s.Container()), class, day)] = day.After(at.Add(-25 * time.Hour))
					}
				}
			}
			var names []string
			for name, wanted := range want {
				if wanted {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			if diff := cmp.Diff(names, slices.Sorted(maps.Keys(g.Tables))); diff != "" {
				t.Errorf("tables (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDirectory: a range inside of a year, month or day needs no more than that directory.
func TestDirectory(t *testing.T) {
	t.Parallel()
	s := hierarchical{owner(t)}
	for _, tt := range []struct{ from, to, want, depth string }{
		{"2026-11-21T10:00:00Z", "2026-11-21T11:00:00Z", "api/2026/11/21", "4"},
		{"2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z", "api/2026/11/21", "4"},
		{"2026-11-21T00:00:00Z", "2026-11-22T00:00:01Z", "api/2026/11", "3"},
		{"2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", "api/2026", "2"},
		{"2026-12-31T23:59:59Z", "2027-01-01T00:00:01Z", "api", "1"},
		{"2026-11-22T00:30:00+01:00", "2026-11-22T00:59:59+01:00", "api/2026/11/21", "4"},
	} {
		t.Run(tt.want+" "+tt.from, func(t *testing.T) {
			t.Parallel()
			r := request(grant.Read, "api")
			var err1, err2 error
			r.From, err1 = time.Parse(time.RFC3339, tt.from)
			r.To, err2 = time.Parse(time.RFC3339, tt.to)
			g, err := grant.Make(t.Context(), s, r)
			if err := errors.Join(err, err1, err2); err != nil {
				t.Fatal(err)
			}
			if said := fields(t, g.Blobs); g.Directory != tt.want || said["sdd"] != tt.depth || said["sr"] != "d" {
				t.Errorf("directory %s, signed %v, want %s, depth %s", g.Directory, said, tt.want, tt.depth)
			}
		})
	}
}

// TestTooWide: no signature for a container with two services, but the role with a condition.
func TestTooWide(t *testing.T) {
	t.Parallel()
	s := owner(t)
	put(t, s, "api", "", time.Now(), "mine")
	put(t, s, "billing", "", time.Now(), "not mine")
	g, err := grant.Make(t.Context(), s, request(grant.Read, "api"))
	var wide *grant.TooWideError
	if g != nil || !errors.As(err, &wide) || !errors.Is(err, store.ErrAccessDenied) || wide.Other != "billing" {
		t.Fatalf("got %v, %v, want a TooWideError that names billing", g, err)
	}
	for _, want := range []string{
		"billing too", `az role assignment create --role "Storage Blob Data Reader"`, "/blobServices/default/containers/" + s.Container() + `"`,
		"/blobServices/default/containers/" + s.Container() + `-compacted"`,
		"blobs:path] StringStartsWith 'api/'", "blobs:prefix] StringStartsWith 'api/'", "--condition-version 2.0", "logq -s api",
	} {
		if !strings.Contains(hint.Text(err), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
	if strings.Contains(hint.Text(err), "sig=") {
		t.Errorf("a signature in %v", err)
	}
	yes := true
	r := request(grant.Read, "api")
	r.Hierarchical = &yes // given, not detected
	if g, err := grant.Make(t.Context(), s, r); err != nil || !g.Exact {
		t.Errorf("got %v, %v, want one limited to a directory", g, err)
	}
	// With directories it is no problem, and a shipper cannot read any of it.
	if g := makeGrant(t, hierarchical{s}, grant.Read, "api"); !g.Exact {
		t.Error("not limited to a directory")
	}
	makeGrant(t, s, grant.Create, "api")
}

// TestTooWideCompacted: another service of which only outputs of compaction are left.
func TestTooWideCompacted(t *testing.T) {
	t.Parallel()
	s := owner(t)
	put(t, s, "api", "", time.Now(), "mine")
	makeGrant(t, s, grant.Read, "api")
	for _, name := range []string{"api/2026/11/21/-/000001.log", "billing/2026/11/21/-/000001.log"} {
		if _, err := s.Compacted().Create(t.Context(), name, nil, store.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	g, err := grant.Make(t.Context(), s, request(grant.Read, "api"))
	var wide *grant.TooWideError
	if g != nil || !errors.As(err, &wide) || wide.Other != "billing" {
		t.Errorf("got %v, %v, want a TooWideError that names billing", g, err)
	}
}

func TestRequestRejected(t *testing.T) {
	t.Parallel()
	s := owner(t)
	for says, change := range map[string]func(*grant.Request){
		"neither read nor":     func(r *grant.Request) { r.Kind = "write" },
		"not a service's name": func(r *grant.Request) { r.Service = "a/b" },
		"expired at":           func(r *grant.Request) { r.Expires = time.Now().Add(-time.Second) },
		"7 days":               func(r *grant.Request) { r.Expires = time.Now().Add(8 * 24 * time.Hour) },
		"range is empty":       func(r *grant.Request) { r.From = r.To },
		"class":                func(r *grant.Request) { r.Classes = []string{"Audit!"} },
		"more than 2000":       func(r *grant.Request) { r.Kind, r.Classes, r.From = grant.Create, []string{""}, r.To.AddDate(-6, 0, 0) },
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			r := request(grant.Read, "api")
			change(&r)
			if g, err := grant.Make(t.Context(), s, r); g != nil || !errors.Is(err, store.ErrInvalid) || !strings.Contains(hint.Text(err), says) {
				t.Errorf("got %v, %v, want ErrInvalid and %q", g, err, says)
			}
		})
	}
}

// TestSASCannotSign: a grant cannot be used to make another.
func TestSASCannotSign(t *testing.T) {
	t.Parallel()
	s := owner(t)
	put(t, s, "api", "", time.Now(), "hello")
	g := makeGrant(t, s, grant.Read, "api")
	_, err := grant.Make(t.Context(), hierarchical{bare(t, g, s.Container(), g.Blobs)}, request(grant.Read, "api"))
	if !errors.Is(err, azure.ErrCannotSign) || !errors.Is(err, store.ErrAccessDenied) || !strings.Contains(hint.Text(err), "not the SAS") {
		t.Errorf("got %v, want ErrCannotSign", err)
	}
	checkClean(t, err, g)
	if _, err := bare(t, g, s.Container(), g.Blobs).SignTable("segments0", "r", "a", "b", time.Now()); !errors.Is(err, azure.ErrCannotSign) {
		t.Errorf("table: got %v, want ErrCannotSign", err)
	}
}
