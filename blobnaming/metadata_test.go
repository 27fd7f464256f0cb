package blobnaming_test

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/record"

	"github.com/google/go-cmp/cmp"
)

// metadataCases are what the metadata lines of testdata/names.txt mean.
func metadataCases() map[string]blobnaming.Metadata {
	start := time.Date(2014, 7, 31, 18, 0, 0, 0, time.UTC)
	return map[string]blobnaming.Metadata{
		"plain": {
			Start:    start.UnixNano(),
			End:      start.Add(time.Hour - 1).UnixNano(),
			Records:  19,
			RawBytes: 123456,
			Levels:   record.Counts{record.None: 4, record.Info: 12, record.Error: 3},
			Batch:    blobnaming.Batch{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff},
			Instance: "web-1",
			Seq:      1406833200000000001,
			Footer:   8388608,
		},
		"everything": {
			Start:    math.MinInt64,
			End:      math.MaxInt64,
			Records:  blobnaming.MaxRawBytes / record.MinText,
			RawBytes: blobnaming.MaxRawBytes,
			Levels:   record.Counts{1, 2, 3, 4, 5, 6, blobnaming.MaxRawBytes/record.MinText - 21},
			Batch:    blobnaming.Batch(bytes.Repeat([]byte{0xff}, 16)),
			Instance: "Pod_A.b-c",
			Seq:      math.MaxInt64,
			Class:    "audit",
			Parse:    "pattern/1 '<ip> 100% <größe>'",
			Footer:   math.MaxInt64,
			Filter:   blobnaming.Filter{Offset: 1 << 20, Partitions: 256, SliceLength: 4096},
		},
		"output": {
			Start:    start.UnixNano(),
			End:      start.Add(time.Hour - 1).UnixNano(),
			Records:  7,
			RawBytes: 700,
			Levels:   record.Counts{record.Info: 7},
			Batch:    blobnaming.Batch{15: 2},
			Instance: blobnaming.OutputInstance,
			Seq:      12,
			Footer:   500,
			Origins:  400,
		},
		"least": {
			Records:  1,
			RawBytes: record.MinText,
			Levels:   record.Counts{record.Fatal: 1},
			Instance: "_",
		},
	}
}

// goldenMetadata are the encoded metadata of testdata/names.txt by case.
func goldenMetadata(tb testing.TB) map[string]map[string]string {
	tb.Helper()
	cases := make(map[string]map[string]string)
	for _, line := range golden(tb, "metadata") {
		m := make(map[string]string)
		for _, pair := range line[1:] {
			key, value, _ := strings.Cut(pair, "=")
			m[key] = value
		}
		cases[line[0]] = m
	}
	return cases
}

func TestMetadataGolden(t *testing.T) {
	t.Parallel()
	encoded := goldenMetadata(t)
	if len(encoded) != len(metadataCases()) {
		t.Errorf("the golden file has %d cases, the test %d", len(encoded), len(metadataCases()))
	}
	for name, m := range metadataCases() {
		if diff := cmp.Diff(encoded[name], m.Encode()); diff != "" {
			t.Errorf("%s: Encode: %s", name, diff)
		}
		got, err := blobnaming.ParseMetadata(encoded[name])
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("%s: ParseMetadata: %s", name, diff)
		}
	}
}

func TestParseMetadataIgnoresCaseAndUnknownKeys(t *testing.T) {
	t.Parallel()
	want := metadataCases()["everything"]
	for _, change := range []func(string) string{strings.ToLower, strings.ToUpper} {
		given := map[string]string{"Future": "x", "hdi_isfolder": "true"}
		for key, value := range want.Encode() {
			given[change(key)] = value
		}
		got, err := blobnaming.ParseMetadata(given)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestParseMetadataRejects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, value string }{
		{"StartTime", "2014-07-31T18:00:00Z"},
		{"StartTime", "2014-07-31T18:00:00,000000000Z"},
		{"StartTime", "2014-07-31T18:00:60.000000000Z"},
		{"StartTime", "2014-07-31T20:00:00.000000000+02:00"},
		{"StartTime", "2500-07-31T18:00:00.000000000Z"},
		{"StartTime", "0001-01-01T00:00:00.000000000Z"},
		{"EndTime", ""},
		{"EndTime", "2014-07-31T17:59:59.999999999Z"},
		{"Records", "-1"},
		{"Records", "019"},
		{"Records", "19x"},
		{"Records", "0"},
		{"RawBytes", "9223372036854775808"},
		{"RawBytes", "1e3"},
		{"Levels", ""},
		{"Levels", "INFO=19,"},
		{"Levels", "INFO=16,INFO=3"},
		{"Levels", "ERROR=3,INFO=16"},
		{"Levels", "INFO=19,ERROR=0"},
		{"Levels", "info=19"},
		{"Levels", "INFO=20"},
		{"Levels", "INFO"},
		{"Levels", "NOTICE=19"},
		{"Levels", "INFO=18"},
		{"Levels", "-=9223372036854775807,INFO=9223372036854775807,WARN=21"},
		{"Batch", "00112233445566778899AABBCCDDEEFF"},
		{"Batch", "00112233445566778899aabbccddee"},
		{"Batch", "00112233445566778899aabbccddeexx"},
		{"Instance", ""},
		{"Instance", "web 1"},
		{"Instance", strings.Repeat("x", 129)},
		{"Seq", "-5"},
		{"Seq", "9223372036854775808"},
		{"Class", ""},
		{"Class", "Audit"},
		{"Parse", ""},
		{"Parse", "pattern/1 '<a>'"},
		{"Parse", "a%2fb"},
		{"Parse", "%41"},
		{"Parse", "%0A"},
		{"Parse", "%ff"},
		{"Parse", "%"},
		{"Footer", "+1"},
		{"Footer", "-1"},
		{"Filter", ""},
		{"Filter", "1,2"},
		{"Filter", "1,2,3,4"},
		{"Filter", "1,2,3,"},
		{"Filter", "0,0,0"},
		{"Filter", "1,2,0"},
		{"Filter", "1,-2,3"},
	} {
		given := metadataCases()["plain"].Encode()
		given[c.key] = c.value
		refused(t, given, c.key)
	}
	for key := range metadataCases()["plain"].Encode() {
		given := metadataCases()["plain"].Encode()
		delete(given, key)
		refused(t, given, key)
		given = metadataCases()["plain"].Encode()
		given[strings.ToLower(key)] = given[key]
		refused(t, given, key)
	}
}

func TestParseMetadataOfAnOutputRefuses(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "0", "-1", "+400", "500", "501", "x"} {
		given := metadataCases()["output"].Encode()
		given["Origins"] = value
		refused(t, given, "Origins")
	}
	given := metadataCases()["output"].Encode()
	delete(given, "Origins")
	refused(t, given, "Origins")

	// A segment has no such key.
	given = metadataCases()["output"].Encode()
	given["LogVersion"] = "logstow/1"
	if m, err := blobnaming.ParseMetadata(given); err != nil || m.IsOutput() {
		t.Errorf("%+v, error %v", m, err)
	}
}

// refused checks that metadata are refused with an error that names the key.
func refused(t *testing.T, given map[string]string, key string) {
	t.Helper()
	m, err := blobnaming.ParseMetadata(given)
	if err == nil {
		t.Errorf("%s: %q: got %+v, want an error", key, given[key], m)
		return
	}
	if !strings.Contains(err.Error(), "metadata "+key+":") {
		t.Errorf("%s: the error does not name the key: %v", key, err)
	}
	if errors.Is(err, blobnaming.ErrVersion) || m != (blobnaming.Metadata{}) {
		t.Errorf("%s: %v with %+v", key, err, m)
	}
}

func TestParseMetadataOfAnotherVersion(t *testing.T) {
	t.Parallel()
	for _, given := range []map[string]string{
		{"LogVersion": "logstow/5", "Levels": "in a form to come"},
		{"LogVersion": "logstow/2", "Levels": "INFO=1"},
		{"logversion": "1.0", "StartTime": "2011-07-31T18:21:46Z", "EndTime": "2011-07-31T18:22:09Z", "LogType": "write"},
	} {
		_, err := blobnaming.ParseMetadata(given)
		if !errors.Is(err, blobnaming.ErrVersion) {
			t.Errorf("%v: %v, want ErrVersion", given, err)
		}
	}
}

func TestValidateNamesTheField(t *testing.T) {
	t.Parallel()
	for key, spoil := range map[string]func(*blobnaming.Metadata){
		"EndTime":  func(m *blobnaming.Metadata) { m.End = m.Start - 1 },
		"Records":  func(m *blobnaming.Metadata) { m.Records = m.RawBytes/record.MinText + 1 },
		"RawBytes": func(m *blobnaming.Metadata) { m.RawBytes = blobnaming.MaxRawBytes + 1 },
		"Levels":   func(m *blobnaming.Metadata) { m.Levels = record.Counts{1 << 63, 1 << 63, 19} },
		"Instance": func(m *blobnaming.Metadata) { m.Instance = "" },
		"Seq":      func(m *blobnaming.Metadata) { m.Seq = -1 },
		"Class":    func(m *blobnaming.Metadata) { m.Class = "a|b" },
		"Parse":    func(m *blobnaming.Metadata) { m.Parse = strings.Repeat("x", blobnaming.MaxParse+1) },
		"Footer":   func(m *blobnaming.Metadata) { m.Footer = -1 },
		"Filter":   func(m *blobnaming.Metadata) { m.Filter.Offset = 5 },
	} {
		m := metadataCases()["plain"]
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
		spoil(&m)
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), "metadata "+key+":") {
			t.Errorf("%s: got %v", key, err)
		}
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	b := blobnaming.Batch([]byte("0123456789abcdef"))
	if b.String() != "30313233343536373839616263646566" {
		t.Errorf("got %v", b)
	}
	if again, err := blobnaming.ParseBatch(b.String()); err != nil || again != b {
		t.Errorf("parsed %v, %v", again, err)
	}
}

// FuzzParseMetadata takes keys and values on lines of their own, "Key=value".
func FuzzParseMetadata(f *testing.F) {
	for _, m := range goldenMetadata(f) {
		var lines []string
		for _, key := range slices.Sorted(maps.Keys(m)) {
			lines = append(lines, key+"="+m[key])
		}
		f.Add(strings.Join(lines, "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		given := make(map[string]string)
		for line := range strings.SplitSeq(text, "\n") {
			key, value, _ := strings.Cut(line, "=")
			given[key] = value
		}
		m, err := blobnaming.ParseMetadata(given)
		if err != nil {
			return
		}
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
		// Whatever the case of its keys, what was read is written as it was.
		for key, value := range m.Encode() {
			found := false
			for k, v := range given {
				found = found || strings.EqualFold(k, key) && v == value
			}
			if !found {
				t.Errorf("%s=%s is written, but was not read from %q", key, value, text)
			}
		}
	})
}

func BenchmarkParseMetadata(b *testing.B) {
	given := metadataCases()["everything"].Encode()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := blobnaming.ParseMetadata(given); err != nil {
			b.Fatal(err)
		}
	}
}
