package segment_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"logstow/record"
	"logstow/segment"
)

// A segment is written to any io.Writer and read by ranges: here the blocks
// that have errors.
func Example() {
	var blob bytes.Buffer
	start := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	w := segment.NewWriter(&blob, segment.Options{
		Service:     "queue",
		Instance:    "queue-0",
		Salt:        [16]byte{1}, // random
		BucketStart: start.Unix(),
		BucketWidth: 3600,
		Compressor:  segment.NewCompressor(), // one for all writers of a program
	})
	for i, message := range []string{"ready", "disk full\nno space left on device"} {
		err := w.Append(record.Record{
			Time:    start.Add(time.Duration(i) * time.Second).UnixNano(),
			Level:   []record.Level{record.Info, record.Error}[i],
			Source:  "app.log",
			Message: []byte(message),
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	meta, err := w.Close(1)
	if err != nil {
		fmt.Println(err)
		return
	}

	read := func(_ context.Context, off, n int64) ([]byte, error) { return blob.Bytes()[off : off+n], nil }
	footer, err := segment.ReadFooter(context.Background(), read, int64(blob.Len()), meta.Footer)
	if err != nil {
		fmt.Println(err)
		return
	}
	decoder := segment.NewDecoder() // one for all readers of a program
	for _, b := range footer.Blocks {
		if b.Levels[record.Error] == 0 {
			continue
		}
		stored, _ := read(context.Background(), b.Offset, b.Stored)
		text, err := decoder.DecodeBlock(nil, stored, b)
		if err != nil {
			fmt.Println(err)
			return
		}
		os.Stdout.Write(text)
	}
	// Output:
	// 2026-11-20T15:00:00.000000000Z	INFO	app.log	-	ready
	// 2026-11-20T15:00:01.000000000Z	ERROR	app.log	-	disk full
	// 	no space left on device
}
