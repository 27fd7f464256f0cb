package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	collector1 "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	common1 "go.opentelemetry.io/proto/slim/otlp/common/v1"
	logs1 "go.opentelemetry.io/proto/slim/otlp/logs/v1"
	resource1 "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

// benchAttributes measures what attributes cost: receiving records by OTLP in protobuf with none, four and twenty of them, and queries
// that search them.
func (b *suite) benchAttributes() error {
	var base *row
	for _, n := range []int{0, 4, 20} {
		requests, err := b.otlpRequests(n)
		if err != nil {
			return err
		}
		of := *b
		of.store = filepath.Join(b.dir, fmt.Sprintf("attributes-%d", n))
		var best row
		for i := range b.runs {
			r, err := of.receive(requests)
			if err != nil {
				return err
			}
			if i == 0 || r.cpu < best.cpu {
				best = r
			}
		}
		best.print(fmt.Sprintf("receive OTLP, %d attributes", n), base, "none")
		if base == nil {
			base = &best
		}
		stored, err := sizeOf(of.store)
		if err != nil {
			return err
		}
		fmt.Printf("%-44s %8.1f MB stored\n", "", float64(stored)/1e6)
		ask := func(args ...string) *command {
			return of.command("logq", append([]string{"query", "-s", "bench", "--from", from, "--to", to, "--count"}, args...)...)
		}
		if _, err := of.compare("PATTERN", []string{"count PATTERN", "count --where of an attribute", "an identifier of one record"},
			ask("connection reset"), ask("--where", `k8s.pod.name == "pod-3"`), ask(fmt.Sprintf("%032x", 77777))); err != nil {
			return err
		}
	}
	return nil
}

// sizeOf is the stored size of the segments in a store.
func sizeOf(store string) (int64, error) {
	return filesIn(store, func(path string) bool { return filepath.Ext(path) == ".log" })
}

// filesIn is the size of the files in a directory, of those that count.
func filesIn(dir string, counts func(path string) bool) (size int64, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !counts(path) {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// perRequest is the number of records of a request.
const perRequest = 1000

// otlpRequests writes the lines of the input as requests to files: the system counts the memory of this process for those that it
// starts. Records have n attributes: half of them of the resource, beginning with k8s.pod.name, and the others of the record, beginning
// with request.id.
func (b *suite) otlpRequests(n int) (files []string, err error) {
	f, err := os.Open(b.input)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	at, err := time.Parse(time.RFC3339, start)
	if err != nil {
		return nil, err
	}
	attribute := func(name, value string) *common1.KeyValue {
		return &common1.KeyValue{Key: name, Value: &common1.AnyValue{Value: &common1.AnyValue_StringValue{StringValue: value}}}
	}
	lines, records := bufio.NewScanner(f), []*logs1.LogRecord(nil)
	flush := func() error {
		r := &resource1.Resource{}
		for i := range n / 2 {
			name, value := fmt.Sprintf("resource.attribute.%d", i), fmt.Sprintf("value-of-attribute-%d", i)
			if i == 0 {
				name, value = "k8s.pod.name", fmt.Sprintf("pod-%d", len(files)%20)
			}
			r.Attributes = append(r.Attributes, attribute(name, value))
		}
		encoded, err := proto.Marshal(&collector1.ExportLogsServiceRequest{ResourceLogs: []*logs1.ResourceLogs{{
			Resource: r, ScopeLogs: []*logs1.ScopeLogs{{LogRecords: records}},
		}}})
		name := filepath.Join(b.dir, fmt.Sprintf("request-%d", len(files)))
		files, records = append(files, name), nil
		return errors.Join(err, os.WriteFile(name, encoded, 0o600))
	}
	for k := 0; lines.Scan(); k++ {
		one := &logs1.LogRecord{
			TimeUnixNano: uint64(at.UnixNano()) + uint64(k)*1e6, SeverityNumber: 9, SeverityText: "INFO", //nolint:gosec // not negative
			Body: &common1.AnyValue{Value: &common1.AnyValue_StringValue{StringValue: lines.Text()}},
		}
		for i := range n - n/2 {
			name, value := fmt.Sprintf("attribute.%d", i), fmt.Sprintf("value %d", k%100)
			if i == 0 {
				name, value = "request.id", fmt.Sprintf("%032x", k)
			}
			one.Attributes = append(one.Attributes, attribute(name, value))
		}
		if records = append(records, one); len(records) == perRequest {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	err = errors.Join(lines.Err(), flush())
	return files, err
}

// receive sends requests in files to a shipper, and returns what that takes.
func (b *suite) receive(requests []string) (r row, err error) {
	buffer := filepath.Join(b.dir, "buffer")
	if err := errors.Join(os.RemoveAll(b.store), os.RemoveAll(buffer)); err != nil {
		return r, err
	}
	s, address, err := b.serve(listening(), filepath.Join(b.dir, "shipper"), "run", "--service", "bench",
		"--store", b.store, "--buffer-dir", buffer, "--http", "127.0.0.1:0")
	if err != nil {
		return r, err
	}
	for _, name := range requests {
		var request []byte
		if err == nil {
			request, err = os.ReadFile(name)
		}
		if err == nil {
			_, _, err = s.request("http://"+address+"/v1/logs", "application/x-protobuf", bytes.NewReader(request))
		}
	}
	r, stopErr := s.stop()
	return r, errors.Join(err, stopErr)
}
