package segment

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A Range reads exactly n bytes of a blob, starting at off.
type Range func(ctx context.Context, off, n int64) ([]byte, error)

// tailReadSize is the number of bytes read at the end of a blob to find its footer. Only the largest footers do not fit.
const tailReadSize = 64 << 10

// ReadFooter reads and verifies the footer of a segment of size bytes. footer is its offset from the metadata, or -1 to
// find it at the end of the blob, which may take two calls of read instead of one. Damage is a [*CorruptError], a segment
// that needs a newer reader [ErrUnsupported]. With footer -1, a blob that does not end like a segment is [ErrNoFooter].
func ReadFooter(ctx context.Context, read Range, size, footer int64) (*Footer, error) {
	if footer < 0 {
		return findFooter(ctx, read, size)
	}
	n := size - footer
	if n < footerOverhead || n > MaxFooter+footerOverhead {
		return nil, corruptFooter(footer, "offset in metadata is %d, size of the segment %d bytes", footer, size)
	}
	frame, err := readRange(ctx, read, footer, n)
	if err != nil {
		return nil, fmt.Errorf("read segment footer: %w", err)
	}
	length, err := footerLength(frame, size)
	if err != nil {
		return nil, err
	}
	if length != n {
		return nil, corruptTrailer(size, "length of the footer is %d bytes, %d by metadata", length, n)
	}
	return parseFooter(frame, footer)
}

func findFooter(ctx context.Context, read Range, size int64) (*Footer, error) {
	if size < footerOverhead {
		return nil, ErrNoFooter
	}
	n := min(size, tailReadSize)
	tail, err := readRange(ctx, read, size-n, n)
	if err != nil {
		return nil, fmt.Errorf("read segment tail: %w", err)
	}
	if string(tail[n-int64(len(trailerMagic)):]) != trailerMagic {
		return nil, ErrNoFooter
	}
	length, err := footerLength(tail, size)
	if err != nil {
		return nil, err
	}
	if length > n {
		head, err := readRange(ctx, read, size-length, length-n)
		if err != nil {
			return nil, fmt.Errorf("read segment footer: %w", err)
		}
		tail = append(head[:len(head):len(head)], tail...)
	}
	return parseFooter(tail[int64(len(tail))-length:], size-length)
}

// readRange reads a range and checks its length.
func readRange(ctx context.Context, read Range, off, n int64) ([]byte, error) {
	b, err := read(ctx, off, n)
	if err == nil && int64(len(b)) != n {
		err = fmt.Errorf("%d of %d bytes: %w", len(b), n, io.ErrUnexpectedEOF)
	}
	return b, err
}

// footerLength returns the length of the footer's frame by the trailer at the end of tail, which has at least
// footerOverhead bytes. size is that of the blob.
func footerLength(tail []byte, size int64) (int64, error) {
	t := tail[len(tail)-trailerSize:]
	if string(t[8:]) != trailerMagic {
		return 0, corruptTrailer(size, "no magic at its end")
	}
	length := int64(binary.LittleEndian.Uint32(t[4:])) + footerOverhead
	if length > MaxFooter+footerOverhead || length > size {
		return 0, corruptTrailer(size, "length of the footer is %d bytes", length)
	}
	return length, nil
}

// parseFooter verifies and decodes the frame of a footer, at offset at, whose trailer footerLength has checked.
func parseFooter(frame []byte, at int64) (*Footer, error) {
	body, trailer := frame[frameHeader:len(frame)-trailerSize], frame[len(frame)-trailerSize:]
	if binary.LittleEndian.Uint32(frame) != frameMagic {
		return nil, corruptFooter(at, "no frame starts here")
	}
	if int(binary.LittleEndian.Uint32(frame[4:])) != len(frame)-frameHeader {
		return nil, corruptFooter(at, "lengths in frame and trailer differ")
	}
	if got, want := checksum(body), binary.LittleEndian.Uint32(trailer); got != want {
		return nil, corruptFooter(at, "checksum is %08x, %08x expected", got, want)
	}
	f, err := decodeFooter(body, at)
	switch {
	case errors.Is(err, ErrUnsupported):
		return nil, err
	case err != nil:
		return nil, corruptFooter(at, "%v", err)
	}
	return f, nil
}

func corruptFooter(at int64, format string, args ...any) error {
	return &CorruptError{Part: "footer", Offset: at, Reason: fmt.Sprintf(format, args...)}
}

func corruptTrailer(size int64, format string, args ...any) error {
	return &CorruptError{Part: "trailer", Offset: max(0, size-int64(trailerSize)), Reason: fmt.Sprintf(format, args...)}
}
