package upload

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"logstow/buffer"
	"logstow/internal/crashpoint"
	"logstow/relay"
	"logstow/store"
)

// relays are a store that is relays: [relay.Store].
type relays interface {
	Relay(ctx context.Context, service string) (id string, err error)
}

// notAllowed is the failure of a batch whose service and class a relay does not allow: those of others need not wait.
type notAllowed struct{ error }

func (e notAllowed) Unwrap() error { return e.error }

// sendSegment sends a batch to a relay. A batch that one may have is sent to that one only, which may be away for long: a failure is a
// [suspect], so that the batch is retried apart from the others. It is never quarantined for that.
func (u *Uploader) sendSegment(ctx context.Context, from *buffer.Buffer, d *destination, b *buffer.Batch, body []byte) error {
	tried := b.Name() != "" // by an earlier process, or an earlier call
	return u.retry(ctx, &d.blobOutage, u.retryFor(b, d.name), func() error {
		for {
			if b.Name() == "" {
				if err := u.bind(ctx, from, d, b, ""); err != nil {
					return err
				}
			}
			err := u.sendOnce(ctx, from, d, b, body)
			switch {
			case err == nil:
				return nil
			case errors.Is(err, store.ErrInvalid) && !tried: // no relay has it: if it is brought back from the quarantine, it starts anew
				return errors.Join(err, b.Bind(d.name, ""))
			case errors.Is(err, store.ErrInvalid): // an earlier response may be lost: it stays that relay's, also in the quarantine
				return err
			case errors.Is(err, relay.ErrNotAllowed) && !tried && u.opts.RetryFor == 0:
				return notAllowed{errors.Join(err, b.Bind(d.name, ""))}
			case errors.Is(err, relay.ErrForgotten) && !tried: // it was in the quarantine, or held, or another relay was to have it
				suffix := u.again
				if n, err := relay.ParseName(b.Name()); err == nil && strings.HasSuffix(n.Sender, suffix) {
					suffix = newSuffix()
				}
				if err := u.bind(ctx, from, d, b, suffix); err != nil {
					return err
				}
			case errors.Is(err, relay.ErrForgotten):
				return suspect{forgotten, fmt.Errorf("the relay may have the segment, whose response was lost before it was quarantined; to send it anew, "+
					"perhaps a second time, run shipper quarantine requeue and then shipper resend --relay with the ID in its name: %w", err)}
			case errors.Is(err, relay.ErrRefused) && !tried: // another relay may take it
				if err := b.Bind(d.name, ""); err != nil {
					return err
				}
			default:
				if n, err := relay.ParseName(b.Name()); err == nil {
					b.BindFinally(n.Relay)
				}
				return suspect{bound, err}
			}
		}
	})
}

// sendOnce makes one request.
func (u *Uploader) sendOnce(ctx context.Context, from *buffer.Buffer, d *destination, b *buffer.Batch, body []byte) error {
	name, err := relay.ParseName(b.Name())
	if err != nil {
		return &store.Error{Op: "send", Object: b.Name(), Class: store.ErrInvalid, Err: err}
	}
	request, err := d.limit.Acquire(ctx)
	if err != nil {
		return err
	}
	u.count(func(st *Stats) { st.Creates++ })
	crashpoint.Here("upload.before-send")
	floor := min(from.OldestSeq(name.Relay), b.Meta.Seq)
	_, err = d.blobs.Create(ctx, b.Name(), body,
		store.CreateOptions{Metadata: map[string]string{relay.FloorKey: strconv.FormatInt(floor, 10)}})
	crashpoint.Here("upload.after-send")
	d.limit.Release(request, err)
	return err
}

// bind records the relay that a batch will be sent to. A suffix makes it another one for the relay.
func (u *Uploader) bind(ctx context.Context, from *buffer.Buffer, d *destination, b *buffer.Batch, suffix string) error {
	id, err := d.relays.Relay(ctx, b.Service)
	if err != nil {
		return err
	}
	sender, err := from.ID(ctx)
	if err != nil {
		return err
	}
	return b.Bind(d.name, relay.Name{Relay: id, Sender: sender + suffix, Seq: b.Meta.Seq}.String())
}

// newSuffix returns a suffix of this sender's name for a segment whose number relays have forgotten.
func newSuffix() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return "-" + hex.EncodeToString(random[:])
}
