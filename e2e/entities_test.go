package e2e

import (
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/store"
	"logstow/store/local"
)

// TestEntities compares what a shipper writes to the index, on both stores, with
// testdata/entities.txt: keys, and properties with their types.
func TestEntities(t *testing.T) {
	t.Parallel()
	golden := filepath.Join("testdata", "entities.txt")
	inputs := os.DirFS(filepath.Join("testdata", "transcripts", "inputs"))
	var mu sync.Mutex
	got := map[string]string{} // by store
	t.Cleanup(func() {         // after the parallel subtests
		if t.Failed() {
			return
		}
		if text, ok := got["local"]; ok && *update {
			if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		for name, entities := range got {
			if diff := cmp.Diff(string(want), entities); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
	onBothStores(t, func(t *testing.T, s target) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, inputs); err != nil {
			t.Fatal(err)
		}
		s.must(t, "shipper", "run", "--once", "--service", "web", "--instance", "vm-1", filepath.Join(dir, "web.log"))
		s.must(t, "shipper", "run", "--once", "--service", "audit", "--instance", "vm-1", "--class", "audit", filepath.Join(dir, "audit.log"))
		read := azureEntities
		if s.dir != "" {
			read = localEntities
		}
		entities := read(t, s)
		slices.Sort(entities)
		mu.Lock()
		defer mu.Unlock()
		got[s.name] = replaceVarying(strings.Join(entities, "\n"))
	})
}

// entityText is an entity with the name of its table, a line each property.
func entityText(table, partition, row string, properties map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\n", table, partition, row)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		value := properties[name]
		if name == "ETag" && value != "String " {
			value = "String $ETAG"
		}
		fmt.Fprintf(&b, "  %s: %s\n", name, value)
	}
	return b.String()
}

// azureEntities reads the entities of a container through Microsoft's JavaScript client.
func azureEntities(t *testing.T, s target) (all []string) {
	t.Helper()
	in := inspect(t, s)
	mine := map[string]bool{}
	for _, b := range in.Blobs {
		mine[b.Metadata["batch"]+b.Metadata["Batch"]] = true
	}
	for _, table := range in.Tables {
		for _, e := range table.Entities {
			if batch, _ := e["Batch"].(string); !mine[batch] {
				continue // another container's
			}
			properties := map[string]string{}
			for name, value := range e {
				switch name {
				case "partitionKey", "rowKey", "etag", "timestamp", "odata.metadata", "timestamp@type":
					continue
				}
				if strings.HasSuffix(name, "@type") {
					continue
				}
				kind, _ := e[name+"@type"].(string)
				if kind == "" {
					kind = "String"
				}
				properties[name] = fmt.Sprintf("%s %v", kind, value)
			}
			all = append(all, entityText(table.Name, fmt.Sprint(e["partitionKey"]), fmt.Sprint(e["rowKey"]), properties))
		}
	}
	return all
}

// localEntities reads the entities of a directory store.
func localEntities(t *testing.T, s target) (all []string) {
	t.Helper()
	l, err := local.Open(t.Context(), s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	q := store.Query{PartitionTo: "~"}
	for _, name := range []string{"Batch", "Blob", "Class", "ETag", "EndTime", "Filter", "Instance", "Levels", "LogVersion", "StartTime", "Type"} {
		q.Columns = append(q.Columns, store.Column{Name: name, Kind: store.String})
	}
	for _, name := range []string{"Footer", "RawBytes", "Records", "Seq", "Size", "V"} {
		q.Columns = append(q.Columns, store.Column{Name: name, Kind: store.Int64})
	}
	q.Columns = append(q.Columns, store.Column{Name: "Minutes", Kind: store.Binary})
	for tables, err := range l.Tables().Tables(t.Context(), "segments") {
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			for page, err := range l.Tables().Query(t.Context(), table, q) {
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page {
					properties := map[string]string{}
					for name, value := range e.Properties {
						switch v := value.(type) {
						case string:
							properties[name] = "String " + v
						case int64:
							properties[name] = fmt.Sprintf("Int64 %d", v)
						case []byte:
							properties[name] = "Binary " + base64.StdEncoding.EncodeToString(v)
						}
					}
					all = append(all, entityText(table, e.Partition, e.Row, properties))
				}
			}
		}
	}
	return all
}
