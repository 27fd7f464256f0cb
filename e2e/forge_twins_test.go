package e2e

import (
	"fmt"
	"slices"
	"time"

	"logstow/blobnaming"
	"logstow/record"
)

// twinAttacks create blobs with the Batch of an honest segment.
func twinAttacks() []forgingAttack {
	garbage := func(_ *blobnaming.Metadata, body []byte) []byte {
		for i := range body {
			body[i] = byte(i * 7)
		}
		return body
	}
	same := func(_ *blobnaming.Metadata, body []byte) []byte { return body }
	return []forgingAttack{
		{name: "twin-garbage-lower", says: "is read instead", forge: func(f *forgery) { f.twin(0, f.name("1015", 1), garbage); f.twin(1, f.name("1000", 1), garbage) }},
		{name: "twin-garbage-higher", forge: func(f *forgery) { f.twin(0, f.name("1030", 999_999), garbage) }},
		{name: "twin-blocks", says: "is read instead", forge: func(f *forgery) {
			for i := range f.honest {
				f.twin(i, f.name([]string{"1000", "1000", "1100", "1100"}[i], 999_990+i), func(_ *blobnaming.Metadata, body []byte) []byte {
					body[20] ^= 1
					return body
				})
			}
		}},
		{name: "twin-same", forge: func(f *forgery) { f.twin(0, f.name("1000", 1), same); f.twin(1, f.name("1030", 999_999), same) }},
		{name: "twin-class", claims: true, status: "03", says: notRead, later: "Class differs from the footer's", verify: "missing-entity wrong-metadata", forge: func(f *forgery) {
			f.twin(0, f.name("1000", 1), func(m *blobnaming.Metadata, body []byte) []byte { m.Class = "audit"; return body })
		}},
		{name: "twin-parser", says: notRead, forge: func(f *forgery) {
			f.twin(0, f.name("1000", 1), func(m *blobnaming.Metadata, body []byte) []byte { m.Parse = "none/1"; return body })
		}},
		{name: "twin-instance", says: notRead, forge: func(f *forgery) {
			f.twin(0, f.name("1000", 1), func(m *blobnaming.Metadata, body []byte) []byte { m.Instance, m.Seq = "evil", 99; return body })
		}},
		{name: "twin-levels", claims: true, status: "03", says: notRead, later: "Levels differs from the footer's", forge: func(f *forgery) {
			f.twin(0, f.name("1000", 1), func(m *blobnaming.Metadata, body []byte) []byte {
				m.Levels = record.Counts{record.Debug: m.Records}
				return body
			})
		}},
		{name: "twin-later", status: "33", says: otherPeriod, later: otherPeriod, verify: "bad-metadata", forge: func(f *forgery) {
			f.twin(0, f.name("1000", 1), func(m *blobnaming.Metadata, body []byte) []byte {
				m.Start, m.End = m.Start+60e9, m.End+60e9
				return body
			})
		}},
		{name: "twin-earlier", claims: true, status: "03", says: notRead, later: "StartTime differs from the footer's", verify: "missing-entity wrong-metadata", forge: func(f *forgery) {
			f.twin(0, f.name("1000", 1), func(m *blobnaming.Metadata, body []byte) []byte {
				m.Start, m.End = m.Start-25*60e9, m.Start-20*60e9
				return body
			})
		}},
		{name: "twin-other-hour", status: "33", says: otherPeriod, later: otherPeriod, verify: "bad-metadata", forge: func(f *forgery) {
			f.twin(0, f.name("2000", 1), same)
			f.twin(1, f.name("2100", 1), func(m *blobnaming.Metadata, body []byte) []byte {
				m.Start, m.End = m.Start+10*3600e9, m.End+10*3600e9
				return body
			})
		}},
		{name: "twin-other-day", claims: true, status: "33", says: otherPeriod, later: otherPeriod, verify: "bad-metadata missing-entity wrong-metadata", forge: func(f *forgery) {
			for days := -1; days <= 1; days++ {
				at := f.day.AddDate(0, 0, days)
				f.twin(0, fmt.Sprintf("%s/%s/0900/000001.log", f.service, at.Format("2006/01/02")), func(m *blobnaming.Metadata, body []byte) []byte {
					m.Start = at.Add(9 * time.Hour).UnixNano()
					m.End = m.Start + 1
					return body
				})
				f.twin(0, fmt.Sprintf("%s/%s/0900/000002.log", f.service, at.Format("2006/01/02")), same)
			}
		}},
		{name: "twin-other-service", verify: "missing-entity wrong-metadata", forge: func(f *forgery) {
			for i := range f.honest {
				f.twin(i, otherService+f.honest[i].Name, same)
			}
		}},
		{name: "twin-empty", says: notRead, later: notRead, verify: "bad-segment missing-entity", forge: func(f *forgery) {
			f.twin(0, f.name("1000", 1), func(*blobnaming.Metadata, []byte) []byte { return nil })
		}},
		{name: "twin-truncated", says: notRead, later: notRead, verify: "bad-segment missing-entity", forge: func(f *forgery) {
			f.twin(0, f.name("1000", 1), func(_ *blobnaming.Metadata, body []byte) []byte { return body[:len(body)/2] })
			f.twin(1, f.name("1000", 2), func(_ *blobnaming.Metadata, body []byte) []byte { return body[1:] })
		}},
		{name: "twin-longer", says: notRead, later: notRead, verify: "bad-segment missing-entity", forge: func(f *forgery) {
			f.twin(0, f.name("1000", 1), func(_ *blobnaming.Metadata, body []byte) []byte { return append(body, 0) })
			f.twin(1, f.name("1000", 2), func(_ *blobnaming.Metadata, body []byte) []byte { return append([]byte{0}, body...) })
		}},
		{name: "twin-huge-claim", says: notRead, later: notRead, verify: "missing-entity wrong-metadata", forge: func(f *forgery) {
			f.twin(0, f.name("1000", 1), func(m *blobnaming.Metadata, body []byte) []byte {
				m.RawBytes, m.Records = blobnaming.MaxRawBytes, 1<<30
				m.Levels = record.Counts{record.Fatal: 1 << 30}
				m.Footer = 1<<63 - 1
				return body
			})
			f.twin(1, f.name("1000", 2), func(m *blobnaming.Metadata, body []byte) []byte {
				m.Filter = blobnaming.Filter{Offset: 1<<63 - 1, Partitions: 1<<63 - 1, SliceLength: 1<<63 - 1}
				return body
			})
		}},
		{name: "twin-page-blob", says: notNamed, later: notNamed, forge: func(f *forgery) { // 8 TiB of zeros, which cost nothing
			m, _ := blobnaming.ParseMetadata(f.honest[0].Metadata)
			f.put(f.name("1000", 1), nil, m.Encode(), "x-ms-blob-type", "PageBlob", "x-ms-blob-content-length", fmt.Sprint(int64(8)<<40))
		}},
		{name: "twin-append-blob", says: notRead, later: notRead, verify: "bad-segment missing-entity", forge: func(f *forgery) {
			m, _ := blobnaming.ParseMetadata(f.honest[0].Metadata)
			f.put(f.name("1000", 1), nil, m.Encode(), "x-ms-blob-type", "AppendBlob")
		}},
		{name: "twin-archived", says: notRead, later: notRead, verify: "missing-entity", forge: func(f *forgery) {
			m, _ := blobnaming.ParseMetadata(f.honest[0].Metadata)
			f.put(f.name("1000", 1), f.honest[0].body, m.Encode(), "x-ms-access-tier", "Archive")
			m.Records, m.Levels = m.Records-1, record.Counts{record.Info: m.Records - 1}
			f.put(f.name("1000", 2), f.honest[0].body, m.Encode(), "x-ms-access-tier", "Archive")
		}},
		{name: "text-archived", status: "33", says: "BlobArchived", later: "BlobArchived", verify: "bad-metadata", forge: func(f *forgery) {
			f.put(f.name("1000", 1), []byte("forged"), nil, "x-ms-access-tier", "Archive")
		}},
		{name: "twins-200", says: notRead, later: notRead, forge: func(f *forgery) {
			for i := range 200 {
				f.twin(i%2, f.name("1000", 1+i), func(m *blobnaming.Metadata, body []byte) []byte {
					m.Seq += int64(i % 3)
					return append(body[:len(body)-i:len(body)-i], make([]byte, i)...)
				})
			}
		}},
		{name: "twin-freed-name", status: "03", later: otherPeriod, verify: "bad-segment missing-entity", stages: []string{stageRemoved}, forge: func(f *forgery) {
			f.twin(0, f.honest[0].Name, garbage)
			f.twin(1, f.honest[1].Name, func(m *blobnaming.Metadata, body []byte) []byte { m.Seq--; return slices.Concat(body, body) })
			f.twin(0, f.honest[2].Name, same)
			f.twin(3, f.honest[3].Name, same)
		}},
	}
}
