package bulk

import (
	"bufio"
	"crypto/rand"
	"net/http"
	"strconv"

	"logstow/message"
)

const typeJSON = "application/json"

// setHead sets the headers of all responses. Clients reject a server without the first one.
func setHead(h http.Header) {
	h.Set("X-Elastic-Product", "Elasticsearch")
	h.Set("Content-Type", typeJSON)
}

// writeItems writes the response for the items of a request. It writes one at a time, because there may be many.
func writeItems(w http.ResponseWriter, items items) {
	setHead(w.Header())
	out := bufio.NewWriter(w) // the error is that of a closed connection
	errors := "false"
	for _, it := range items.all() {
		if it.rejected != "" {
			errors = "true"
			break
		}
	}
	_, _ = out.WriteString(`{"took":0,"errors":` + errors + `,"items":[`)
	var b []byte
	id := rand.Text()
	for i, it := range items.all() {
		b = b[:0]
		if i > 0 {
			b = append(b, ',')
		}
		b = it.append(b, id, i)
		_, _ = out.Write(b)
	}
	_, _ = out.WriteString("]}\n")
	_ = out.Flush()
}

// append appends the item of a response; id and number are the id of one without.
func (it *item) append(b []byte, id string, number int) []byte {
	b = append(append(append(b, `{"`...), it.action...), `":{"_index":`...)
	b = message.AppendString(b, it.index)
	b = append(b, `,"_id":`...)
	if it.id != "" {
		b = message.AppendString(b, it.id)
	} else {
		b = append(append(b, '"'), id...)
		b = append(strconv.AppendInt(append(b, '-'), int64(number), 10), '"')
	}
	if it.rejected != "" {
		b = append(b, `,"status":400,"error":{"type":"illegal_argument_exception","reason":`...)
		b = message.AppendString(b, it.rejected)
		return append(b, `}}}`...)
	}
	return append(b, `,"_version":1,"result":"created","_shards":{"total":1,"successful":1,"failed":0},"_seq_no":0,"_primary_term":1,"status":201}}`...)
}

// writeError writes the response for a request that is rejected as a whole.
func writeError(w http.ResponseWriter, status int, reason string) {
	kind := "illegal_argument_exception"
	switch status {
	case http.StatusTooManyRequests:
		kind = "es_rejected_execution_exception"
	case http.StatusServiceUnavailable:
		kind = "unavailable_exception"
	case http.StatusRequestEntityTooLarge:
		kind = "content_too_long_exception"
	}
	setHead(w.Header())
	w.WriteHeader(status)
	b := append([]byte(nil), `{"error":{"root_cause":[{"type":"`+kind+`"}],"type":"`+kind+`","reason":`...)
	b = message.AppendString(b, reason)
	_, _ = w.Write(append(b, `},"status":`+strconv.Itoa(status)+"}\n"...)) // the error is that of a closed connection
}
