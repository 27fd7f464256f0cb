package otlp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"logstow/input"
	"logstow/input/httpserver"
)

// frameHead is the prefix of a message in gRPC: a flag and the length.
const frameHead = 5

// serveGRPC serves one unary call. It reads the message itself, to bound its compressed and
// decompressed size before memory is allocated.
func (h *Handler) serveGRPC(w http.ResponseWriter, r *http.Request) {
	kind := r.Header.Get("Content-Type")
	if r.ProtoMajor < 2 || kind != "application/grpc" && !strings.HasPrefix(kind, "application/grpc+proto") {
		http.Error(w, "this path speaks gRPC over HTTP/2 with protobuf", http.StatusUnsupportedMediaType)
		return
	}
	lease := h.Lease()
	defer lease.Release()
	message, err := readFrame(r.Body, r.Header.Get("Grpc-Encoding"), h.MaxBody, lease)
	if err == nil {
		var answer proto.Message
		if answer, err = h.export(r, message, lease); err == nil {
			writeFrame(w, kind, answer)
			return
		}
	}
	h.LogRejected(r, requests, err)
	_ = h.grpc.Write(w, r, rpcError(err)) // the error is that of a closed connection
}

// readFrame reads the only message of a unary call.
func readFrame(r io.Reader, encoding string, limit int, lease *httpserver.Lease) ([]byte, error) {
	head, err := httpserver.Body(io.LimitReader(r, frameHead), "", frameHead, lease) // Body returns the error that makes a slow sender retry
	if err != nil {
		return nil, err
	}
	if len(head) < frameHead {
		return nil, fmt.Errorf("%w: %w", httpserver.ErrBody, io.ErrUnexpectedEOF)
	}
	size := binary.BigEndian.Uint32(head[1:])
	if uint64(size) > uint64(limit) { //nolint:gosec // a limit is not negative
		return nil, fmt.Errorf("%w: a message may have %d bytes", input.ErrTooLarge, limit)
	}
	if head[0] == 0 {
		encoding = ""
	}
	framed := &io.LimitedReader{R: r, N: int64(size)}
	message, err := httpserver.Body(framed, encoding, limit, lease)
	if err != nil {
		return nil, err
	}
	if framed.N > 0 {
		return nil, fmt.Errorf("%w: the message ends before its frame does", httpserver.ErrBody)
	}
	if n, _ := io.ReadFull(r, head[:1]); n > 0 {
		return nil, fmt.Errorf("%w: more than one message in a unary call", httpserver.ErrBody)
	}
	return message, nil
}

func writeFrame(w http.ResponseWriter, kind string, answer proto.Message) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Grpc-Accept-Encoding", "gzip,zstd")
	h.Set("Trailer", "Grpc-Status")
	message := encode(typeProtobuf, answer)
	frame := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))) //nolint:gosec // some 60 bytes at most
	_, _ = w.Write(append(frame, message...))                               // the error is that of a closed connection
	h.Set("Grpc-Status", "0")
}

// rpcError returns the gRPC error for a failed export. If the sender did not cause the error, it contains when to
// retry. A sender must not retry otherwise.
func rpcError(err error) *connect.Error {
	status := httpserver.Status(err)
	e := connect.NewError(connect.Code(rpcCode(status)), errors.New(httpserver.Public(err))) //nolint:gosec // a small constant
	if status == http.StatusServiceUnavailable {
		if detail, err := connect.NewErrorDetail(retryInfo(httpserver.RetryAfter)); err == nil {
			e.AddDetail(detail)
		}
	}
	return e
}

// retryInfo is a google.rpc.RetryInfo: the delay is field 1, its seconds field 1 of that.
func retryInfo(seconds uint64) *anypb.Any {
	delay := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), seconds)
	return &anypb.Any{
		TypeUrl: "type.googleapis.com/google.rpc.RetryInfo",
		Value:   protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), delay),
	}
}

// rpcCode is the code of google.rpc.Code for an HTTP status of [httpserver.Status].
func rpcCode(status int) int {
	code := connect.CodeUnavailable
	switch status {
	case http.StatusRequestEntityTooLarge:
		code = connect.CodeResourceExhausted
	case http.StatusUnsupportedMediaType:
		code = connect.CodeUnimplemented
	case http.StatusBadRequest:
		code = connect.CodeInvalidArgument
	case http.StatusRequestTimeout:
		code = connect.CodeDeadlineExceeded
	}
	return int(code) //nolint:gosec // codes are small
}
