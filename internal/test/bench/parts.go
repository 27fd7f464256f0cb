package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"logstow/segment"
)

// runPart runs a baseline: only the unavoidable work of a command.
func runPart(ctx context.Context, part string, args []string) error {
	switch part {
	case "compress":
		return compress(args[0])
	case "scan":
		return scan(ctx, args[0], args[1:])
	case "lines", "pieces":
		return copyOnly(ctx, args[0], args[1], part == "pieces")
	}
	return fmt.Errorf("no part %q", part)
}

// compress compresses a file in blocks like those of segments, discarding the output.
func compress(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	compressor := segment.NewCompressor()
	text := make([]byte, segment.DefaultBlockSize)
	var stored []byte
	for {
		n, err := io.ReadFull(f, text)
		if n > 0 {
			stored = compressor.Encode(stored[:0], text[:n])
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// scan decompresses segments block by block and counts a pattern.
func scan(ctx context.Context, pattern string, paths []string) error {
	decoder := segment.NewDecoder()
	var text []byte
	count := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read := func(_ context.Context, off, n int64) ([]byte, error) { return data[off : off+n], nil }
		footer, err := segment.ReadFooter(ctx, read, int64(len(data)), -1)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, b := range footer.Blocks {
			text, err = decoder.DecodeBlock(text[:0], data[b.Offset:b.Offset+b.Stored], b)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			count += bytes.Count(text, []byte(pattern))
		}
	}
	fmt.Println(count)
	return nil
}
