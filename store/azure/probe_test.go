package azure_test

import (
	"fmt"
	"testing"
	"strings"

	"logstow/store"
	"logstow/store/azure"
)

func TestProbe(t *testing.T) {
	a, cred := server(t)
	s := openStore(t, azure.Options{Container: a.Container(), Credential: cred})
	b := s.Blobs()
	ctx := t.Context()
	_, err := b.Read(ctx, "a/b", 0, 1); fmt.Println("read nocontainer:", err)
	for _, err := range b.List(ctx, "") { fmt.Println("list nocontainer:", err) }
	fmt.Println("delete nocontainer:", b.Delete(ctx, []string{"a/b"}))
	fmt.Println(b.Create(ctx, "a/b", []byte("hello"), store.CreateOptions{Metadata: map[string]string{"StartTime": "x"}, ContentEncoding: "gzip"}))
	fmt.Println(b.Create(ctx, "a/b", []byte("hello"), store.CreateOptions{}))
	for _, n := range []string{"a b%20/c+d?e#f", "ü/'q'&<>\"", "a/…", "a-b/x", "a/.b/c", "~x"} {
		_, err := b.Create(ctx, n, []byte("hello"), store.CreateOptions{}); fmt.Println("create",n, err)
		x, err := b.Read(ctx, n, 1, 2); fmt.Println(string(x), err)
	}
	for _, r := range [][2]int64{{0,5},{0,6},{5,1},{2,3},{9,4}} {
		x, err := b.Read(ctx, "a/b", r[0], r[1]); fmt.Println("read", r, string(x), err)
	}
	_, err = b.Read(ctx, "nope", 0, 1); fmt.Println("read missing:", err)
	for p, err := range b.List(ctx, "") { fmt.Println("list:", err); for _, x := range p { fmt.Printf("%+v\n", x)} }
	for p, err := range b.ListPrefixes(ctx, "") { fmt.Println("prefixes:", p, err)}
	fmt.Println("delete:", b.Delete(ctx, []string{"a/b", "nope", "a b%20/c+d?e#f", "ü/'q'&<>\"", "~x"}))
	for p, err := range b.List(ctx, "") { fmt.Println("list:", err); for _, x := range p { fmt.Printf("%+v\n", x)} }

	tb := s.Tables()
	n := table(a)
	for p, err := range tb.Query(ctx, n, store.Query{Partition: "p"}) { fmt.Println("query notable:", p, err)}
	fmt.Println("upsert notable", tb.Upsert(ctx, n, []store.Entity{{Key: store.Key{"p","r"}}}))
	fmt.Println("remove notable", tb.Remove(ctx, n, []store.Key{{"p","r"}}))
	fmt.Println("drop notable", tb.DropTable(ctx, n))
	fmt.Println("create", tb.CreateTable(ctx, n), tb.CreateTable(ctx, n))
	for _, k := range []string{"p", "p|00", "it's", "ü x", "a%20b+c", "a&b=c"} {
		fmt.Println("upsert", k, tb.Upsert(ctx, n, []store.Entity{{Key: store.Key{k,"r"+k}, Properties: map[string]any{"A": "x'y", "B": int64(1<<62), "C": []byte{0,255}}}, {Key: store.Key{k,"s"+k}}}))
		for p, err := range tb.Query(ctx, n, store.Query{Partition: k, Columns: []store.Column{{"A", store.String}, {"B", store.Int64}, {"C", store.Binary}}}) { fmt.Println("query:", p, err)}
		fmt.Println("remove", k, tb.Remove(ctx, n, []store.Key{{k,"r"+k}, {k, "missing"}}))
		for p, err := range tb.Query(ctx, n, store.Query{Partition: k, Columns: []store.Column{{"A", store.String}, {"B", store.Int64}, {"C", store.Binary}}}) { fmt.Println("query:", p, err)}
	}
	for p, err := range tb.Query(ctx, n, store.Query{Partition: "p|00", Where: []store.Condition{{"A","eq","x'y"}}}) { fmt.Println("query where:", p, err)}
	for p, err := range tb.Tables(ctx, n[:5]) { fmt.Println("tables:", p, err)}
	big := map[string]any{}
	for i := range 15 { big[fmt.Sprint("S",i)] = strings.Repeat("ü", 32<<10) }
	fmt.Println("upsert big", tb.Upsert(ctx, n, []store.Entity{{Key: store.Key{"big","r"}, Properties: big}}))
	fmt.Println("drop", tb.DropTable(ctx, n))
}
