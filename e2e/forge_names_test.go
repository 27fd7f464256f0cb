package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/compaction"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/store/open"
)

// nameAttacks create blobs with the names or metadata of outputs of compaction, rejections, other programs' blobs, and of nothing.
func nameAttacks() []forgingAttack {
	return []forgingAttack{
		{name: "marker", says: notNamed, later: notNamed, forge: func(f *forgery) {
			day := f.service + "/" + f.day.Format("2006/01/02")
			for _, name := range []string{"/-/000001.rejected", "/-/000002.rejected", "/-/999999.rejected", "/audit/000001.rejected", "/1000/9824261652000001.rejected", "/1000/000001.rejected", "/1030/000001.rejected", "/-/000001.log.rejected"} {
				f.put(day+name, nil, nil)
			}
		}},
		{name: "marker-with-text", says: notNamed, later: notNamed, forge: func(f *forgery) {
			f.put(f.chain("-", 1)[:len(f.chain("-", 1))-len(".log")]+".rejected", []byte("forged"), f.honest[0].Metadata)
		}},
		{name: "output-of-own", says: notNamed, later: notNamed, forge: func(f *forgery) {
			body, m := f.output(nil)
			f.put(f.chain("-", 1), body, m.Encode())
			f.put(f.chain("-", 2), body, m.Encode())
			f.put(f.name("0000", 1), body, m.Encode())
			f.put(f.name("1000", 777), body, m.Encode())
		}},
		{name: "output-of-honest", says: notNamed, later: notNamed, forge: func(f *forgery) {
			body, m := f.output(f.honest)
			f.put(f.chain("-", 1), body, m.Encode())
			f.put(f.chain("-", 2), body, m.Encode())
			f.put(f.chain("audit", 1), body, m.Encode())
			f.put(f.name("0000", 1), body, m.Encode())
			f.put(f.name("1000", 777), body, m.Encode())
		}},
		{name: "output-of-honest-as-plain", status: "33", says: otherPeriod, later: otherPeriod, verify: "bad-metadata", forge: func(f *forgery) { // without the version of outputs
			body, m := f.output(f.honest)
			m.Origins = 0
			f.put(f.name("0000", 1), body, m.Encode())
			m.Instance = "evil"
			f.put(f.name("1000", 777), body, m.Encode())
		}},
		{name: "output-copied", says: notNamed, later: notNamed, stages: []string{stageMerged, stageRemoved}, forge: func(f *forgery) {
			for page, err := range f.owner.Compacted().List(f.t.Context(), f.service+"/") {
				if err != nil || len(page) != 1 {
					f.t.Fatal(page, err)
				}
				body, err := f.owner.Compacted().Read(f.t.Context(), page[0].Ref(), 0, page[0].Size)
				if err != nil {
					f.t.Fatal(err)
				}
				for _, name := range []string{page[0].Name, f.chain("-", 2), f.name("0000", 1), f.name("1000", 777)} {
					f.put(name, body, page[0].Metadata)
				}
			}
		}},
		{name: "output-metadata", says: notNamed, later: notNamed, forge: func(f *forgery) {
			f.twin(0, f.name("1000", 1), func(m *blobnaming.Metadata, body []byte) []byte { m.Origins = m.Footer - 1; return body })
			f.twin(1, f.name("1030", 999_999), func(m *blobnaming.Metadata, body []byte) []byte { m.Origins = 1; return body })
		}},
		{name: "plain-in-chain", says: notNamed, later: notNamed, forge: func(f *forgery) {
			for i := range f.honest {
				f.twin(i, f.chain("-", 1+i), func(_ *blobnaming.Metadata, body []byte) []byte { return body })
			}
		}},
		{name: "own-records", adds: 5, forge: func(f *forgery) {
			body, m := f.write(f.day.Add(10*time.Hour), time.Hour, 5, nil)
			f.put(f.name("1000", 1), body, m.Encode())
		}},
		{name: "own-day-wide", claims: true, status: "33", says: "a segment of a whole day that is no output", later: "a segment of a whole day that is no output", verify: "bad-segment missing-entity", forge: func(f *forgery) {
			body, m := f.write(f.day, time.Hour, 5, nil)
			body = reseal(body, &m, []byte{0xcd, 0x0e, 0x10}, []byte{0xce, 0, 1, 0x51, 0x80}) // 3600 s, 86400 s
			f.put(f.name("0000", 1), body, m.Encode())
		}},
		{name: "own-of-other-hour", status: "33", says: otherPeriod, later: otherPeriod, verify: "bad-metadata", forge: func(f *forgery) {
			body, m := f.write(f.day.Add(12*time.Hour), time.Hour, 5, nil)
			f.put(f.name("1000", 1), body, m.Encode())
			body, m = f.write(f.day.Add(36*time.Hour), time.Hour, 5, nil)
			f.put(f.name("1000", 2), body, m.Encode())
		}},
		{name: "own-classes", claims: true, status: "03", says: notRead, later: "Class differs from the footer's", verify: "missing-entity wrong-metadata", forge: func(f *forgery) {
			for i := range 20 {
				class := fmt.Sprintf("c%d", i)
				f.twin(i%2, f.name("1000", 1+i), func(m *blobnaming.Metadata, body []byte) []byte { m.Class = class; return body })
			}
		}},
		{name: "random-batches", claims: true, status: "33", says: "Batch differs from the footer's", later: "Batch differs from the footer's", verify: "missing-entity wrong-metadata", forge: func(f *forgery) { // damaged segments that are twins of nothing
			for i := range 20 {
				f.twin(i%2, f.name("1030", 700_000+i), func(m *blobnaming.Metadata, body []byte) []byte { m.Batch[0] += byte(1 + i); return body })
			}
		}},
		{name: "lying-footer", adds: 5, claims: true, status: "33", says: "number of records differs from the footer", later: "number of records differs from the footer", verify: "bad-segment", forge: func(f *forgery) {
			body, m := f.write(f.day.Add(10*time.Hour), time.Minute, 5, func(o *segment.Options) { o.NoFilter = true })
			// Levels are arrays of seven numbers: those of INFO become those of FATAL.
			body = reseal(body, &m, []byte{0x97, 0, 0, 0, 5, 0, 0, 0}, []byte{0x97, 0, 0, 0, 0, 0, 0, 5})
			m.Levels = record.Counts{record.Fatal: 5}
			f.put(f.name("1000", 1), body, m.Encode())
		}},
		{name: "text", verify: "bad-metadata", adds: 3, forge: func(f *forgery) {
			at := f.day.Add(10 * time.Hour).Format(time.RFC3339)
			f.put(f.name("1000", 1), []byte(at+" INFO forged\n"), nil)
			f.put(f.name("1000", 2), []byte(at+" INFO forged\n"), map[string]string{"LogVersion": "other/1"})
			f.put(f.name("1000", 3), []byte(at+" INFO forged\n"), f.metadata(0, "LogVersion", ""))
		}},
		{name: "text-page-blob", says: notNamed, later: notNamed, forge: func(f *forgery) { // 8 TiB of zeros, which cost nothing
			f.put(f.name("1000", 1), nil, nil, "x-ms-blob-type", "PageBlob", "x-ms-blob-content-length", fmt.Sprint(int64(8)<<40))
		}},
		{name: "analytics", adds: 1, forge: func(f *forgery) {
			f.put(f.service+"/"+f.day.Format("2006/01/02")+"/1000/000000.log", []byte(f.day.Add(10*time.Hour).Format(time.RFC3339)+" INFO forged\n"), map[string]string{"LogType": "write", "StartTime": f.day.Add(10 * time.Hour).Format(time.RFC3339), "EndTime": f.day.Add(11 * time.Hour).Format(time.RFC3339)})
		}},
		{name: "metadata", status: "33", says: "unknown log version", later: "unknown log version", verify: "bad-metadata", forge: func(f *forgery) {
			for i, change := range [][2]string{
				{"LogVersion", "logstow/1 "},
				{"LogVersion", "logstow/1-output"},
				{"LogVersion", "logstow/1"},
				{"LogVersion", "logstow/"},
				{"StartTime", ""},
				{"StartTime", "2026-11-20T15:04:05Z"},
				{"EndTime", "9999-99-99T99:99:99.999999999Z"},
				{"Records", "-1"},
				{"Records", "0"},
				{"Records", "18446744073709551616"},
				{"RawBytes", "99999999999999999999"},
				{"Levels", "INFO=18446744073709551615,ERROR=66"},
				{"Batch", strings.ToUpper(f.honest[0].Metadata["Batch"])},
				{"Batch", "x"},
				{"Instance", strings.Repeat("x", 7000)},
				{"Instance", "-"},
				{"Instance", "../../x"},
				{"Seq", "-1"},
				{"Seq", "9223372036854775807"},
				{"Class", "../x"},
				{"Class", "-"},
				{"Parse", "%0A"},
				{"Footer", "9223372036854775807"},
				{"Footer", "-1"},
				{"Filter", "1,1,1"},
				{"Filter", "9223372036854775807,9223372036854775807,9223372036854775807"},
				{"Origins", "1"},
			} {
				f.put(f.name("1000", 1+i), f.honest[0].body, f.metadata(0, change[0], change[1]))
			}
			lower := map[string]string{}
			for key, value := range f.honest[1].Metadata {
				lower[strings.ToUpper(key)] = value
			}
			f.put(f.name("1000", 100), f.honest[1].body, lower)
		}},
		{name: "names", says: notNamed, later: notNamed, forge: func(f *forgery) {
			day := f.service + "/" + f.day.Format("2006/01/02")
			for _, name := range []string{
				day + "/1030/1.log", day + "/1030/0000001.log", day + "/1030/18446744073709551616.log", day + "/1030/000001.LOG", day + "/1030/000001.log.1", day + "/1030//000001.log", day + "/9999/000001.log",
				day + "/1030/000001.log/000001.log", day + "/../1030/000002.log", day + "/%2e%2e/x", day + "/1030", day, day + "/1030/\u00e9\u202e.log", day + "/1030/" + strings.Repeat("x", 900),
				day + "/-/1.log", day + "/-/0000001.log", day + "/-/000000.log", day + "/-/1000000.log", day + "/UPPER/000001.log", "_compacted/" + f.chain("-", 1), "_compacted/" + f.service, ".logstow/store.db", "UPPER/" + day,
				f.service + "/9999/99/99/99/x", f.service + "/99/x", f.service + "/0000/00/00/0000/000001.log",
			} {
				f.put(name, f.honest[0].body, f.honest[0].Metadata)
			}
		}},
		{name: "far-years", verify: "bad-metadata", forge: func(f *forgery) {
			for i, year := range []string{"0001", "1969", "9999"} {
				f.put(fmt.Sprintf("%s/%s/01/01/0000/%06d.log", f.service, year, 1), f.honest[i].body, f.honest[i].Metadata)
				f.put(fmt.Sprintf("%s/%s/01/01/0000/%06d.log", f.service, year, 2), []byte("forged\n"), nil)
			}
		}},
		{name: "snapshots", stages: []string{stagePlain, stageMerged}, forge: func(f *forgery) {
			for _, s := range f.honest {
				if status := f.request(http.MethodPut, f.owner.Container(), s.Name, "comp=snapshot&"+f.create, nil, nil); status != http.StatusCreated {
					f.t.Errorf("snapshot: status %d", status)
				}
			}
		}},
	}
}

// chain returns the name of an output of the service's day.
func (f *forgery) chain(class string, generation int) string {
	return fmt.Sprintf("%s/%s/%s/%06d.log", f.service, f.day.Format("2006/01/02"), class, generation)
}

// metadata returns the metadata of an honest segment with another value of a key, without it if value is "".
func (f *forgery) metadata(of int, key, value string) map[string]string {
	f.t.Helper()
	m, err := blobnaming.ParseMetadata(f.honest[of].Metadata)
	if err != nil {
		f.t.Fatal(err)
	}
	changed := maps.Clone(m.Encode())
	if changed[key] = value; value == "" {
		delete(changed, key)
	}
	return changed
}

// output makes an output of forged records with the given inputs; without inputs, of forged segments, by the compaction of a store of
// the shipper's own.
func (f *forgery) output(inputs []stored) ([]byte, blobnaming.Metadata) {
	f.t.Helper()
	if inputs == nil {
		return f.compacted()
	}
	opts := segment.Options{Service: f.service, Instance: blobnaming.OutputInstance, BucketStart: f.day.Unix(), BucketWidth: 24 * 3600}
	for _, s := range inputs {
		e := catalog.RawEntry(&s.Blob)
		opts.Inputs = append(opts.Inputs, e.Origin())
	}
	slices.SortFunc(opts.Inputs, segment.CompareOrigins)
	type forged struct {
		record.Record
		input int
	}
	var records []forged
	for input, o := range opts.Inputs {
		n := int64(0)
		for level, count := range o.Levels {
			for range count {
				at := o.Start + (o.End-o.Start)/int64(o.Records-1)*n
				if n++; n == int64(o.Records) {
					at = o.End
				}
				records = append(records, forged{record.Record{Time: at, Level: record.Level(level), Source: "evil", Message: []byte("forged")}, input})
			}
		}
	}
	slices.SortStableFunc(records, func(a, b forged) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.input, b.input)) })
	var b bytes.Buffer
	w := segment.NewWriter(&b, opts)
	for _, r := range records {
		line, _, err := record.Next(record.AppendText(nil, r.Record))
		if err != nil {
			f.t.Fatal(err)
		}
		if err := w.AppendLine(line, r.input); err != nil {
			f.t.Fatal(err)
		}
	}
	m, err := w.Close(slices.MaxFunc(opts.Inputs, func(a, b segment.Origin) int { return cmp.Compare(a.Seq, b.Seq) }).Seq)
	if err != nil {
		f.t.Fatal(err)
	}
	return b.Bytes(), m
}

// compacted compacts forged segments in a directory.
func (f *forgery) compacted() ([]byte, blobnaming.Metadata) {
	f.t.Helper()
	s, err := open.Store(f.t.Context(), filepath.Join(f.t.TempDir(), "store"), open.Options{Getenv: os.Getenv})
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for i := range 2 {
		body, m := f.write(f.day.Add(time.Duration(10+i)*time.Hour), time.Hour, 5, nil)
		if _, err := s.Blobs().Create(f.t.Context(), f.name(fmt.Sprintf("%d00", 10+i), 1), body, store.CreateOptions{Metadata: m.Encode()}); err != nil {
			f.t.Fatal(err)
		}
	}
	if report, err := compaction.Run(f.t.Context(), s, compaction.DefaultOptions()); err != nil || report.Outputs != 1 {
		f.t.Fatal(report, err)
	}
	for page, err := range s.Compacted().List(f.t.Context(), "") {
		if err != nil || len(page) != 1 {
			f.t.Fatal(page, err)
		}
		m, err := blobnaming.ParseMetadata(page[0].Metadata)
		if err != nil {
			f.t.Fatal(err)
		}
		body, err := s.Compacted().Read(context.WithoutCancel(f.t.Context()), page[0].Ref(), 0, page[0].Size)
		if err != nil {
			f.t.Fatal(err)
		}
		return body, m
	}
	f.t.Fatal("no output")
	return nil, blobnaming.Metadata{}
}

// reseal replaces bytes of the footer of a segment without sections, and makes it the segment of the new footer.
func reseal(body []byte, m *blobnaming.Metadata, from, to []byte) []byte {
	const header, trailer = 8, 16
	footer := bytes.ReplaceAll(body[m.Footer+header:len(body)-trailer], from, to)
	m.Batch = blobnaming.Batch(segment.HashOf(footer))
	sealed := binary.LittleEndian.AppendUint32(body[:m.Footer+4:m.Footer+4], uint32(len(footer)+trailer))
	sealed = append(sealed, footer...)
	sealed = binary.LittleEndian.AppendUint32(sealed, crc32.Checksum(footer, crc32.MakeTable(crc32.Castagnoli)))
	sealed = binary.LittleEndian.AppendUint32(sealed, uint32(len(footer)))
	return append(sealed, "LOGSTOW1"...)
}
