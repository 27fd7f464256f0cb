package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/internal/test/effort"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/store/open"
)

// serveLabels is the memory of a server that lists the labels of a month of 200 services, of which each has 20 pods a day.
const serveLabels = 256 << 20

// Lists of labels and series, and volumes, take little memory, although footers are read for them.
func TestLongServeLabels(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "stores 6,000 segments, with make long 48,000")
	s := target{name: "local", store: filepath.Join(t.TempDir(), "store")}
	month := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	const services, days = 200, 30
	storeLabelled(t, s.store, month, services, days, effort.Cases{Full: 1, Long: 8}.N())
	server := s.serve(t)
	in := []string{"start", month.Format(time.RFC3339), "end", month.AddDate(0, 0, days).Format(time.RFC3339)}
	for _, ask := range []struct {
		path, want string
		params     []string
	}{
		{"labels", `"k8s_pod_name"`, nil},
		{"label/k8s_pod_name/values", `"pod-199-29-19"`, nil},
		{"series", `"k8s_pod_name":"pod-199-29-19"`, nil},
		{"series", `"k8s_pod_name":"pod-7-3-0"`, []string{"match[]", `{k8s_pod_name="pod-7-3-0"}`}},
		{"index/volume_range", `"service_name":"service-0"`, []string{"query", `{service_name=~".+"}`, "step", "86400"}},
	} {
		if body := server.ask(t, ask.path, append(ask.params, in...)...); !bytes.Contains(body, []byte(ask.want)) {
			t.Errorf("%s %q: no %s in %.300s", ask.path, ask.params, ask.want, body)
		}
	}
	checkPeak(t, "logq serve with labels of a month", memoryPeak(server.cmd.Process.Pid), serveLabels)
}

// storeLabelled stores segments of services with 20 pods a day, some a day.
func storeLabelled(t *testing.T, path string, first time.Time, services, days, daily int) {
	t.Helper()
	s, err := open.Store(t.Context(), path, open.Options{Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	compressor := segment.NewCompressor()
	number := uint64(0)
	for day := range days {
		for service := range services {
			for part := range daily {
				bucket := first.AddDate(0, 0, day).Add(time.Duration(part) * time.Hour)
				name := blobnaming.Name{Service: fmt.Sprint("service-", service), Bucket: bucket, Number: number + 1}
				number++
				var blob bytes.Buffer
				w := segment.NewWriter(&blob, segment.Options{
					Service: name.Service, Instance: "pod-1", BucketStart: bucket.Unix(), BucketWidth: 3600, Compressor: compressor,
					Salt: [16]byte{byte(number), byte(number >> 8), byte(number >> 16), 1},
				})
				for i := range 40 {
					attributes := fmt.Appendf(nil, `{"resource":{"deployment.environment":"prod","k8s.namespace.name":"ns-%d","k8s.pod.name":"pod-%d-%d-%d"}}`,
						service%10, service, day, i%20)
					r := record.Record{Time: bucket.Add(time.Duration(i) * time.Second).UnixNano(), Level: record.Info, Message: []byte("ready"), Attributes: attributes}
					if err := w.Append(r); err != nil {
						t.Fatal(err)
					}
				}
				meta, err := w.Close(int64(number))
				if err == nil {
					_, err = s.Blobs().Create(t.Context(), name.String(), blob.Bytes(), store.CreateOptions{Metadata: meta.Encode()})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
