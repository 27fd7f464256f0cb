package local_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"logstow/store"
	"logstow/store/local"
)

func TestSmoke(t *testing.T) {
	s, err := local.Open(t.Context(), filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := s.Blobs()
	for i := range 10 {
		tag, err := b.Create(t.Context(), fmt.Sprintf("a/b/%d", i), []byte("hello"), store.CreateOptions{Metadata: map[string]string{"A": "b c"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(tag)
	}
	_, err = b.Create(t.Context(), "a/b/1", []byte("hello"), store.CreateOptions{})
	t.Log(err)
	for page, err := range b.List(t.Context(), "") {
		t.Log(page, err)
	}
	for page, err := range b.ListPrefixes(t.Context(), "a") {
		t.Log(page, err)
	}
	tb := s.Tables()
	t.Log(tb.Upsert(t.Context(), "abc", []store.Entity{{Key: store.Key{"p", "r"}}}))
	t.Log(tb.CreateTable(t.Context(), "abc"))
	t.Log(tb.Upsert(t.Context(), "abc", []store.Entity{{Key: store.Key{"p", "r"}, Properties: map[string]any{"s": "x", "i": int64(500), "b": []byte("x")}}}))
	for page, err := range tb.Query(t.Context(), "abc", store.Query{Partition: "p", Columns: []store.Column{{"i", store.Int64}, {"b", store.Binary}}}) {
		t.Log(page, err)
	}
}
