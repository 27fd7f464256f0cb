package otlp

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"logstow/input/httpserver"
)

const (
	typeProtobuf = "application/x-protobuf"
	typeJSON     = "application/json"
)

var errType = errors.New("content type not supported: send " + typeProtobuf + " or " + typeJSON)

// serveHTTP responds in the encoding of the request.
func (h *Handler) serveHTTP(w http.ResponseWriter, r *http.Request) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != typeProtobuf && kind != typeJSON {
		http.Error(w, errType.Error(), http.StatusUnsupportedMediaType)
		return
	}
	lease := h.Lease()
	defer lease.Release()
	body, err := h.Body(r, lease)
	if err == nil && kind == typeJSON {
		body, err = fromJSON(body, lease)
	}
	if err == nil {
		var answer proto.Message
		if answer, err = h.export(r, body, lease); err == nil {
			write(w, kind, http.StatusOK, encode(kind, answer))
			return
		}
	}
	status := h.Reject(w, r, requests, err)
	write(w, kind, status, encodeStatus(kind, status, httpserver.Public(err)))
}

func write(w http.ResponseWriter, kind string, status int, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the error is that of a closed connection
}

func encode(kind string, m proto.Message) []byte {
	marshal := proto.Marshal
	if kind == typeJSON {
		marshal = protojson.Marshal
	}
	b, err := marshal(m)
	if err != nil {
		return nil // not possible: the text is ours
	}
	return b
}

// encodeStatus writes a google.rpc.Status.
func encodeStatus(kind string, status int, message string) []byte {
	code := rpcCode(status)
	if kind == typeJSON {
		b, _ := json.Marshal(struct { // an int and a string can always be encoded
			Code    int    `json:"code"`
			Message string `json:"message"`
		}{code, message})
		return b
	}
	b := protowire.AppendTag(nil, 1, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(code)) //nolint:gosec // a small constant
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	return protowire.AppendString(b, message)
}
