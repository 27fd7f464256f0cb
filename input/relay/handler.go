package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/listen"
	"logstow/record"
	"logstow/relay"
	"logstow/segment"
	"logstow/store"
	"logstow/watch"
)

// maxText is about the maximum size of the text of the blocks of one write.
const maxText = 4 << 20

// handler receives segments. It implements [httpserver.Routes].
type handler struct {
	opts     input.Options
	instance string
	observe  func(service, parser, instance string, r *record.Record)
	id       func(context.Context) (string, error)
	scopes   scopes
	senders  *senders
	// followers are the senders that poll for watches.
	followers *watch.Senders
	// stopping is done when the input ends.
	stopping context.Context //nolint:containedctx // that of Run
	memory   *listen.Budget
	// decoding limits the segments that are decoded at the same time.
	decoding chan struct{}
	patience time.Duration
}

// Register implements [httpserver.Routes].
func (h *handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET "+relay.InfoPath, h.info)
	mux.HandleFunc("POST "+relay.WatchesPath+"{relay}", h.watches)
	mux.HandleFunc("PUT "+relay.SegmentsPath+"{relay}/{sender}/{seq}", h.put)
}

// info responds with what the relay is.
func (h *handler) info(w http.ResponseWriter, r *http.Request) {
	allowed, ok := h.scopes.of(r)
	if !ok {
		h.deny(w, r)
		return
	}
	query := r.URL.Query()
	if service, class := query.Get(relay.ServiceParameter), query.Get(relay.ClassParameter); service != "" &&
		!allowed.allows(service, class) {
		h.fail(w, r, errScope(service, class))
		return
	}
	id, err := h.id(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(relay.Info{ID: id, Version: relay.Version, Instance: h.instance}) // the sender asks again
}

func (h *handler) deny(w http.ResponseWriter, r *http.Request) {
	h.opts.Stats.Denied.Add(1)
	h.opts.Log.Debug("segment rejected: login failed", "from", r.RemoteAddr)
	w.Header().Set("WWW-Authenticate", `Bearer realm="logstow"`)
	http.Error(w, "no token, or a wrong one", http.StatusUnauthorized)
}

// statusError is an error with the status of its response.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

func withStatus(status int, format string, args ...any) error {
	return &statusError{status, fmt.Errorf(format, args...)}
}

func errScope(service, class string) error {
	return withStatus(http.StatusForbidden, "the token does not allow service %s, class %q", service, class)
}

// fail responds with an error.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	h.opts.Log.Debug("segment rejected", "from", r.RemoteAddr, "error", err)
	var known *statusError
	if errors.As(err, &known) {
		http.Error(w, httpserver.Text(err), known.status)
		return
	}
	status := httpserver.Status(err)
	httpserver.Head(w.Header(), status)
	http.Error(w, httpserver.Public(err), status)
}

// put receives a segment, and responds 200 when it is durable.
func (h *handler) put(w http.ResponseWriter, r *http.Request) {
	scope, ok := h.scopes.of(r)
	if !ok {
		h.deny(w, r)
		return
	}
	appended, err := h.take(r, scope)
	if err == nil {
		w.WriteHeader(http.StatusOK)
		return
	}
	if !appended {
		w.Header().Set(relay.RefusedHeader, "1")
	}
	h.fail(w, r, err)
}

// take receives a segment. appended is set if a part of it is, or may be, in the buffer.
func (h *handler) take(r *http.Request, allowed *scope) (appended bool, err error) {
	ctx := r.Context()
	name, floor, err := h.name(r)
	if err != nil {
		return false, err
	}
	lease := httpserver.NewLease(h.memory)
	defer lease.Release()
	body, err := readBody(r, lease, relay.MaxSegment)
	if err != nil {
		return false, err
	}
	footer, err := segment.VerifyStored(ctx, store.BytesRange(body), int64(len(body)))
	switch {
	case errors.Is(err, segment.ErrUnsupported):
		return false, withStatus(http.StatusUpgradeRequired, "upgrade the relay: %w", err)
	case err != nil:
		return false, withStatus(http.StatusBadRequest, "not a segment: %w", err)
	case footer.Mixed():
		return false, withStatus(http.StatusBadRequest, "a segment of a relay or of compaction cannot be relayed")
	case !allowed.allows(footer.Service, footer.Class):
		return false, errScope(footer.Service, footer.Class)
	}
	waiting, cancel := context.WithTimeoutCause(ctx, h.patience, fmt.Errorf("%w: the buffer has no space", input.ErrBusy))
	defer cancel()
	s, forget, err := h.senders.hold(waiting, name.Sender)
	if err != nil {
		return true, err // another request with this segment may be under way
	}
	defer h.senders.release(name.Sender, s)
	if name.Seq < s.floor {
		return false, withStatus(http.StatusConflict, "segment %d is below the floor of its sender, %d", name.Seq, s.floor)
	}
	blocks, known := s.progress[name.Seq]
	if known && blocks == complete {
		h.opts.Stats.Repeated.Add(1)
	} else {
		if len(s.progress) >= maxAbove && !known && name.Seq > floor { // the lowest may be what all others wait for
			return known, fmt.Errorf("%w: the sender has %d segments that are not confirmed", input.ErrBusy, len(s.progress))
		}
		a := appending{handler: h, sender: s, name: name, floor: floor, footer: footer, body: body, forget: forget}
		if blocks, err = a.run(waiting, blocks); err != nil {
			return blocks > 0, err
		}
	}
	return true, h.opts.Sink.Synced(ctx, s.lsn)
}

// readBody reads a body of at most limit bytes whose length is known.
func readBody(r *http.Request, lease *httpserver.Lease, limit int64) ([]byte, error) {
	if r.ContentLength <= 0 {
		return nil, withStatus(http.StatusLengthRequired, "the length of the body is required")
	}
	if r.ContentLength > limit {
		return nil, fmt.Errorf("%w: a body of %d bytes, at most %d allowed", input.ErrTooLarge, r.ContentLength, limit)
	}
	if err := lease.Take(r.ContentLength); err != nil {
		return nil, err
	}
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return nil, fmt.Errorf("%w: %w", httpserver.ErrBody, err)
	}
	return body, nil
}

// name returns the name of the segment of a request, and the floor of its sender.
func (h *handler) name(r *http.Request) (n relay.Name, floor int64, err error) {
	n, err = relay.ParseName(r.PathValue("relay") + "/" + r.PathValue("sender") + "/" + r.PathValue("seq"))
	if err != nil {
		return n, 0, &statusError{http.StatusBadRequest, err}
	}
	if err := h.isFor(r, n.Relay); err != nil {
		return n, 0, err
	}
	floor, err = strconv.ParseInt(r.Header.Get(relay.FloorHeader), 10, 64)
	if err != nil || floor < 0 || floor > n.Seq {
		return n, 0, withStatus(http.StatusBadRequest, "%s is not a number up to that of the segment", relay.FloorHeader)
	}
	return n, floor, nil
}

// isFor returns an error if a request is for another relay.
func (h *handler) isFor(r *http.Request, id string) error {
	own, err := h.id(r.Context())
	if err == nil && id != own {
		err = withStatus(http.StatusMisdirectedRequest, "this is relay %s", own)
	}
	return err
}

// appending appends the blocks of a segment.
type appending struct {
	*handler
	sender *sender
	name   relay.Name
	floor  int64
	footer *segment.Footer
	body   []byte
	forget string
}

// run appends the blocks from an index on, several with one write, and returns how many are appended. The last write makes the segment
// complete.
func (a *appending) run(ctx context.Context, from int) (blocks int, err error) {
	select {
	case a.decoding <- struct{}{}:
		defer func() { <-a.decoding }()
	case <-ctx.Done():
		return from, context.Cause(ctx)
	}
	decoder := segment.NewDecoder()
	all := a.footer.Blocks
	if from >= len(all) {
		return from, withStatus(http.StatusBadRequest, "segment %s has %d blocks; an earlier one with its number had more",
			a.name, len(all))
	}
	for from < len(all) {
		chunk := &buffer.Relayed{
			Instance: a.footer.Instance,
			Start:    a.footer.BucketStart * int64(time.Second),
			Width:    a.footer.BucketWidth * int64(time.Second),
		}
		text, records, to := int64(0), 0, from
		for ; to < len(all) && (to == from || text+all[to].Raw <= maxText); to++ {
			block, err := a.decode(decoder, all[to])
			if err != nil {
				return from, &statusError{http.StatusBadRequest, err}
			}
			chunk.Blocks = append(chunk.Blocks, block)
			text, records = text+all[to].Raw, records+len(block.Records)
		}
		if err := a.append(ctx, chunk, to); err != nil {
			return from, err
		}
		a.opts.Stats.Records.Add(int64(records))
		a.opts.Stats.Bytes.Add(text)
		from = to
	}
	return from, nil
}

// decode decodes and checks a block.
func (a *appending) decode(decoder *segment.Decoder, b segment.Block) (buffer.RelayedBlock, error) {
	stored := a.body[b.Offset : b.Offset+b.Stored : b.Offset+b.Stored]
	records, err := decoder.DecodeRecords(stored)
	if err != nil {
		return buffer.RelayedBlock{}, fmt.Errorf("block %d: %w", b.Index, err)
	}
	var levels record.Counts
	for i := range records {
		levels[records[i].Level]++
	}
	if levels != b.Levels || records[0].Time != b.Start || records[len(records)-1].Time != b.End {
		return buffer.RelayedBlock{}, b.Corrupt("its records are not those of the footer")
	}
	return buffer.RelayedBlock{Stored: stored, Records: records}, nil
}

// append appends blocks up to an index, together with the number of the segment.
func (a *appending) append(ctx context.Context, chunk *buffer.Relayed, to int) error {
	progress := to
	if to == len(a.footer.Blocks) {
		progress = complete
	}
	positions := []buffer.Position{{Input: prefix + a.name.Sender, Value: a.sender.with(a.floor, a.name.Seq, progress)}}
	if a.forget != "" {
		positions = append(positions, buffer.Position{Input: prefix + a.forget})
	}
	lsn, err := a.opts.Sink.Append(ctx, buffer.Chunk{
		Service:   a.footer.Service,
		Class:     a.footer.Class,
		Parse:     a.footer.Parse,
		Read:      a.opts.Now().UnixNano(),
		Relayed:   chunk,
		Positions: positions,
	})
	if err != nil {
		return err
	}
	a.forget = ""
	if a.observe != nil {
		for i := range chunk.Blocks {
			for j := range chunk.Blocks[i].Records {
				a.observe(a.footer.Service, a.footer.Parse, a.footer.Instance, &chunk.Blocks[i].Records[j])
			}
		}
	}
	a.sender.set(a.floor, a.name.Seq, progress, lsn)
	return nil
}
