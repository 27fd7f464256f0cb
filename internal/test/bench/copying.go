package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"logstow/buffer"
	"logstow/input"
	"logstow/record"
	"logstow/store/open"
	shipping "logstow/upload"
)

// copyOnly sends a file through the shipper's own buffer and storage unparsed: the difference to
// the shipper is the cost of recognition and of reading files. Each record is a line or, with
// pieces, one read. Usage: bench -part lines|pieces -- FILE BUFFER_DIR
func copyOnly(ctx context.Context, path, dir string, pieces bool) (err error) {
	st, err := open.Store(ctx, os.Getenv("LOGSTOW_STORE"), open.Options{Getenv: os.Getenv})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	buf, err := buffer.Open(ctx, buffer.Options{Dir: dir, Sync: buffer.Sync(time.Second), Instance: "copy", Once: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, buf.Close()) }()
	shipped := make(chan error, 1)
	go func() { shipped <- shipping.New(shipping.Options{Buffer: buf, Store: st}).Run(ctx) }()
	err = copyRecords(ctx, path, buf, pieces)
	buf.Drain(ctx)
	return errors.Join(err, <-shipped)
}

func copyRecords(ctx context.Context, path string, buf *buffer.Buffer, pieces bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	at, err := time.Parse(time.RFC3339, start)
	if err != nil {
		return err
	}
	chunk := buffer.Chunk{Service: "bench", Read: at.UnixNano()}
	now := chunk.Read
	add := func(message []byte) {
		chunk.Records = append(chunk.Records, record.Record{Time: now, Source: "input.log", Message: message})
		now += int64(time.Microsecond) // so that times take the same space as those of the lines
	}
	size := input.LargeRead // as the shipper reads
	if pieces {
		size = 256 << 10
	}
	space, held := make([]byte, size), 0
	for {
		n, err := f.Read(space[held:])
		text := space[:held+n]
		chunk.Records = chunk.Records[:0]
		if pieces && n > 0 {
			add(text)
			text = nil
		}
		for end := bytes.IndexByte(text, '\n'); end >= 0; end = bytes.IndexByte(text, '\n') {
			add(text[:end])
			text = text[end+1:]
		}
		if len(chunk.Records) > 0 {
			if _, err := buf.Append(ctx, chunk); err != nil {
				return err
			}
		}
		held = copy(space, text)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case held == len(space):
			return fmt.Errorf("a line of more than %d bytes", size)
		}
	}
}
