package storage_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/storage"
	"logstow/record"
	"logstow/store"
)

// Counts of random widths and ranges are those of the records.
func TestLongCounts(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	worlds := pushdownWorlds(t, rnd)
	tries := effort.Cases{Short: 10, Test: 25, Full: 150, Long: 10_000}.N()
	counted := 0
	for range tries {
		name := pick(rnd, []string{"plain", "compacted", "late"})
		w := worlds[name]
		from, to := randomRange(rnd)
		width := pick(rnd, []time.Duration{
			0, time.Second, time.Minute, 5 * time.Minute, time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour, 1500 * time.Millisecond,
			5273437500, 90 * time.Second, 7 * time.Second, 7 * time.Minute, 100 * time.Millisecond, time.Second + time.Nanosecond, 42187500 * 100,
		})
		by := slices.DeleteFunc([]string{"service_name", "level", "instance", "source", "detected_level"}, func(string) bool { return rnd.IntN(2) == 0 })
		text := randomSelector(rnd)
		if rnd.IntN(3) == 0 {
			text += pick(rnd, []string{` |= "502"`, ` != "error" or "502"`, ` |~ "err.r"`, ` | level="error"`})
		}
		log := parse(t, text)
		want := map[string]uint64{}
		err := w.reference().Logs(t.Context(), log, engine.LogParams{From: from, To: to}, func(e *engine.Entry) error {
			at := to - 1
			if width > 0 {
				at = intervalEnd(e.Time, width)
			}
			want[fmt.Sprint(labels.New(slices.Concat(e.Stream, e.Metadata)...).Keep(by...), at)]++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]uint64{}
		ok, err := w.view(storage.Access{}).Counts(t.Context(), engine.Selection{Log: log, From: from, To: to}, by, false, width, func(ls labels.Labels, end int64, n uint64) error {
			got[fmt.Sprint(ls, end)] += n
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			if len(got) > 0 {
				t.Errorf("%s: not counted, but emitted", text)
			}
			continue
		}
		counted++
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: %s by %v, width %v, from %d to %d (-want +got)\n%s", name, text, by, width, from, to, diff)
		}
	}
	if counted < tries/3 {
		t.Errorf("%d of %d were counted", counted, tries)
	}
}

// intervalEnd is the end of the interval (end - width, end] that a time is in.
func intervalEnd(at int64, width time.Duration) int64 {
	return at + (int64(width)-at%int64(width))%int64(width)
}

// A rate over whole hours reads no block: of segments footers have the answer, of outputs of compaction columns.
func TestCountsReadNoText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	for i := range 24 { // messages so long that there is room for columns
		records := make([]record.Record, 200)
		for j := range records {
			at := origin().Add(time.Duration(i%4)*time.Hour + time.Duration(j)*10*time.Second + time.Duration(i))
			message := fmt.Appendf(nil, "%x%x%x%x", w.rnd.Uint64(), w.rnd.Uint64(), w.rnd.Uint64(), w.rnd.Uint64())
			records[j] = record.Record{Time: at.UnixNano(), Level: record.Level(j % record.Levels), Source: "app.log", Message: message}
		}
		w.ship(services()[i/4%3], instances()[i/12], records...)
	}
	want := map[string]uint64{}
	for _, r := range w.all {
		want[fmt.Sprint(r.labels().Keep("level", "instance"), intervalEnd(r.Time, time.Minute))]++
	}
	check := func(what string, columns bool) {
		for _, text := range []string{`{service_name=~".+"}`, `{service_name="api",instance="a-0"}`, `{service_name="api",level="error"}`} {
			v := w.view(storage.Access{})
			got := map[string]uint64{}
			ok, err := v.Counts(t.Context(), engine.Selection{Log: parse(t, text), From: origin().UnixNano(), To: origin().Add(4 * time.Hour).UnixNano()},
				[]string{"level", "instance"}, false, time.Minute, func(ls labels.Labels, end int64, n uint64) error {
					got[fmt.Sprint(ls, end)] += n
					return nil
				})
			if diff := cmp.Diff(want, got); diff != "" && !strings.Contains(text, ",") {
				t.Errorf("%s, %s: (-want +got)\n%s", what, text, diff)
			}
			if r := v.Report(); err != nil || !ok || r.BlocksRead > 0 || columns != (r.BlocksColumns > 0) {
				t.Errorf("%s, %s: %v, %v, %d blocks read, %d from columns", what, text, ok, err, r.BlocksRead, r.BlocksColumns)
			}
		}
	}
	check("segments", false)
	w.compact()
	check("outputs of compaction", true)
}

// Streams and volumes of whole segments have the numbers of their records; those of a part about its share.
func TestStreamsAndVolumes(t *testing.T) {
	t.Parallel()
	for _, labelled := range []bool{false, true} {
		t.Run(fmt.Sprintf("labelled %t", labelled), func(t *testing.T) {
			t.Parallel()
			testStreamsAndVolumes(t, labelled)
		})
	}
}

func testStreamsAndVolumes(t *testing.T, labelled bool) {
	w := newWorld(t, testrand.New(t))
	w.labelled = labelled
	w.fill(60, 30)
	matchers := parse(t, `{service_name=~".+"}`).Matchers
	check := func(what string) {
		from, to := origin().UnixNano(), origin().Add(4*time.Hour).UnixNano()
		want, size := map[string]uint64{}, 0
		for _, r := range w.all {
			want[r.labels().Without(labels.DetectedLevel, labels.Source).String()]++
			size += len(r.Message)
		}
		streams, err := streamsOf(t.Context(), w.view(storage.Access{}), nil, from, to)
		if err != nil {
			t.Fatal(err)
		}
		got, bytes := map[string]uint64{}, int64(0)
		for _, s := range streams {
			got[s.Labels.String()] = s.Records
			bytes += s.Bytes
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-records +streams)\n%s", what, diff)
		}
		if bytes < int64(size)/3 || bytes > int64(size)*3 {
			t.Errorf("%s: %d bytes, messages have %d", what, bytes, size)
		}
		for _, width := range []time.Duration{0, time.Minute, time.Hour, 7 * 24 * time.Hour} {
			volumes, err := volumesOf(t.Context(), w.view(storage.Access{}), matchers, from, to, width)
			if err != nil {
				t.Fatal(err)
			}
			sum := int64(0)
			for _, v := range volumes {
				sum += v.Bytes
				if width > 0 && v.Start%int64(width) != 0 || width == 0 && v.Start != from || v.Bytes <= 0 {
					t.Errorf("%s: %v: %+v", what, width, v)
				}
			}
			if sum < bytes-int64(len(volumes)) || sum > bytes+int64(len(volumes)) {
				t.Errorf("%s: the volumes of %v add up to %d, not %d", what, width, sum, bytes)
			}
		}
	}
	check("segments")
	w.compact()
	check("outputs of compaction")
	w.fill(10, 30)
	check("both")

	// Selectors that overlap count a stream once, and a range that cuts segments has a part of them.
	from, to := origin().Add(30*time.Minute).UnixNano(), origin().Add(3*time.Hour+30*time.Minute).UnixNano()
	one, err := streamsOf(t.Context(), w.view(storage.Access{}), nil, from, to)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := streamsOf(t.Context(), w.view(storage.Access{}), append(selectors(t, `{service_name=~".+"}`, `{level="error"}`, `{instance=~"a.*"}`), nil), from, to)
	if err != nil {
		t.Fatal(err)
	}
	records, all := uint64(0), uint64(len(w.all))
	for i, s := range one {
		records += s.Records
		if twice[i].Labels.String() != s.Labels.String() || twice[i].Records != s.Records || twice[i].Segments != s.Segments {
			t.Errorf("%+v by several selectors is %+v", s, twice[i])
		}
	}
	if len(one) != len(twice) || records < all/2 || records > all {
		t.Errorf("%d of %d records; %d and %d streams", records, all, len(one), len(twice))
	}
	if got, err := streamsOf(t.Context(), w.view(storage.Access{}), nil, to+int64(24*time.Hour), to+int64(25*time.Hour)); err != nil || len(got) > 0 {
		t.Error(got, err)
	}
}

// A part of a record counts in sum, of many segments.
func TestVolumesOfFewBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	for range 60 {
		first := record.Record{Time: origin().UnixNano(), Message: []byte("x")}
		last := record.Record{Time: origin().Add(59 * time.Minute).UnixNano(), Message: []byte("yy")}
		w.ship("api", "a-0", first, last)
	}
	volumes, err := volumesOf(t.Context(), w.view(storage.Access{}), parse(t, `{service_name="api"}`).Matchers, origin().UnixNano(), origin().Add(time.Hour).UnixNano(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if sum := volumes[len(volumes)/2].Bytes; len(volumes) != 6*59+1 || sum == 0 {
		t.Errorf("%d volumes, %d bytes in the middle", len(volumes), sum)
	}
}

// The volume of a service with one record is the size of its message.
func TestVolumeOfOneRecord(t *testing.T) {
	t.Parallel()
	const size = 3000
	w := newWorld(t, testrand.New(t))
	w.ship("api", "a-0", record.Record{Time: origin().UnixNano(), Message: bytes.Repeat([]byte("x"), size)})
	volumes, err := volumesOf(t.Context(), w.view(storage.Access{}), parse(t, `{service_name="api"}`).Matchers, origin().UnixNano(), origin().Add(time.Hour).UnixNano(), 0)
	if err != nil || len(volumes) != 1 || volumes[0].Bytes < size*9/10 || volumes[0].Bytes > size*11/10 {
		t.Errorf("%v, %v", volumes, err)
	}
}

// Services have the sizes of their own records; a part of the many services that are not looked at has about the mean.
func TestVolumesByService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	sizes := map[string]int64{"small": 10, "large": 5000}
	for service, size := range sizes {
		for i := range 3 {
			w.ship(service, "a-0", minuteRecords(i, 20, strings.Repeat("x", int(size)))...)
		}
	}
	for i := range 40 {
		service := fmt.Sprintf("other-%d", i)
		sizes[service] = 100
		w.ship(service, "a-0", minuteRecords(0, 60, strings.Repeat("y", 100))...)
	}
	volumes, err := volumesOf(t.Context(), w.view(storage.Access{}), parse(t, `{service_name=~".+"}`).Matchers, origin().UnixNano(), origin().Add(time.Hour).UnixNano(), 0)
	if err != nil || len(volumes) != len(sizes) {
		t.Fatalf("%d volumes, %v", len(volumes), err)
	}
	near := 0
	for _, v := range volumes {
		service := v.Labels.Get(labels.Service)
		if want := 60 * (sizes[service] + 7); v.Bytes > want*9/10 && v.Bytes < want*11/10 {
			near++
		} else if !strings.HasPrefix(service, "other-") {
			t.Errorf("%s has %d bytes, not about %d", service, v.Bytes, want)
		}
	}
	if near < 32 { // small, large and 30 others
		t.Errorf("%d of %d volumes are near", near, len(volumes))
	}
}

// Text of other programs is not read for estimates, and has a volume.
func TestVolumesOfForeignText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	text := []byte(strings.Repeat("a line of another program\n", 1000))
	name := blobnaming.Name{Service: "api", Bucket: origin(), Number: 1000}
	if _, err := w.store.Blobs().Create(t.Context(), name.String(), text, store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		v := w.view(storage.Access{})
		volumes, err := volumesOf(t.Context(), v, parse(t, `{service_name="api"}`).Matchers, origin().UnixNano(), origin().Add(time.Hour).UnixNano(), 0)
		bytes := int64(0)
		for _, vol := range volumes {
			bytes += vol.Bytes
		}
		if err != nil || bytes < 20_000 || bytes > 40_000 || v.Report().BytesDecoded > 0 {
			t.Errorf("%d bytes (%v), %d of them decoded", bytes, err, v.Report().BytesDecoded)
		}
		lines, err := answer(t.Context(), w.view(storage.Access{}), parse(t, `{service_name="api",level="unknown",source="-"} |= "another"`), engine.LogParams{From: origin().UnixNano(), To: origin().Add(time.Hour).UnixNano()})
		if err != nil || len(lines) != 1000 {
			t.Errorf("%d lines, %v", len(lines), err)
		}
		w.ship("api", "a-0", minuteRecords(0, 10, "line")...)
	}
}
