package agent

import (
	"testing"
	"time"

	"logstow/buffer"
	"logstow/metrics"
	"logstow/upload"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	stored := upload.Stats{Delivered: upload.Delivered{Segments: 2, Records: 1234, StoredBytes: 5_000_000}}
	for _, c := range []struct {
		summary Summary
		want    string
	}{
		{
			Summary{Uploaded: stored, Read: metrics.InputTotal{Bytes: 20_000_000}, Processed: map[string]int64{"redact:jwt": 3, "drop": 0}, Took: 1500 * time.Millisecond},
			"shipped 1234 records (20.0 MB) in 2 segments (5.0 MB stored), in 1.5s; nothing was dropped",
		},
		{
			Summary{
				Incomplete: true, Held: buffer.Stats{Waiting: 1, Sending: 1, DroppedRecords: 7, LostRecords: 1}, Quarantined: 1,
				Processed: map[string]int64{"sample": 1, "drop": 5, "redact:jwt": 1},
				Read:      metrics.InputTotal{Cut: 2, Dropped: 3, LostByKernel: 4, Incomplete: 5, Invalid: 6},
			},
			"incomplete: shipped 0 records (0 B) in 0 segments (0 B stored), in 0s; 3 segments left in the buffer; " +
				"dropped: 5 records by drop, 1 record by sample, 7 records because the buffer was full, 1 record by damage of the buffer, " +
				"3 messages because there was no space, 4 datagrams by the kernel, 5 messages that came incomplete, " +
				"6 datagrams that could not be decoded, what was too long of 2 lines",
		},
	} {
		if got := c.summary.String(); got != c.want {
			t.Errorf("%s, want\n%s", got, c.want)
		}
	}
}

func TestProgressText(t *testing.T) {
	t.Parallel()
	read := metrics.InputTotal{Bytes: 1000, Records: 7}
	stored := upload.Stats{Delivered: upload.Delivered{Segments: 1}}
	if got, want := progressText(read, stored), "1.0 kB, 7 records read, 1 segment stored"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	read.FileBytes, read.FileBytesRead = 4000, 1000
	if got, want := progressText(read, stored), "[=====               ]  25%  1.0 kB, 7 records read, 1 segment stored"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
