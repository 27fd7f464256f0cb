package retention

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"logstow/blobnaming"
	"logstow/containment"
	"logstow/internal/retry"
	"logstow/store"
)

// fit lists everything and moves the cutoffs until the kept blobs fit into MaxBytes. Segments that outputs
// of compaction contain do not count, because compaction removes them.
func (r *run) fit(ctx context.Context, p Policy, services []string) error {
	all := make(map[classDay]*Usage)
	var failures []error
	r.eachService(ctx, services, func(service string) {
		u := usage{r: r, days: make(map[classDay]*Usage)}
		w := walk{
			r: r, onExpired: func(store.Blob) bool { return true },
			onSegment:   func(key classDay, b store.Blob) { u.add(ctx, key, b) },
			onRejection: func(output blobnaming.Name) { u.rejected = append(u.rejected, output) },
		}
		w.run(ctx, service)
		u.endHour(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		failures = append(failures, u.err)
		for key, own := range u.days {
			if sum := all[key]; sum != nil {
				sum.Blobs += own.Blobs
				sum.Bytes += own.Bytes
			} else {
				all[key] = own
			}
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := errors.Join(failures...); err != nil {
		return err // the sizes are not known
	}
	days := make([]Usage, 0, len(all))
	for _, u := range all {
		days = append(days, *u)
	}
	var left int64
	if r.cut, left = r.cut.Fit(days); left > p.MaxBytes {
		r.problem(fmt.Errorf("%d bytes remain, more than the %d allowed: today's and those of classes that are not named stay", left, p.MaxBytes))
	}
	r.o.Progress.Listed.Store(0)
	r.o.Progress.Found.Store(0)
	return nil
}

// usage sums the usage of a service.
type usage struct {
	r    *run
	days map[classDay]*Usage
	// hour is the hour that is being listed; plain are its plain segments, outputs its outputs, rejected
	// the names of its rejected outputs.
	hour           time.Time
	plain, outputs []containment.Segment
	rejected       []blobnaming.Name
	// err is set if the inputs of an output could not be read.
	err error
}

// add adds a listed segment.
func (u *usage) add(ctx context.Context, key classDay, b store.Blob) {
	if u.days[key] == nil {
		u.days[key] = &Usage{Class: key.class, Day: key.day}
	}
	u.days[key].Blobs++
	u.days[key].Bytes += b.Size
	s, err := containment.NewSegment(b)
	if err != nil {
		return
	}
	if hour := s.Scope().Hour; !hour.Equal(u.hour) {
		u.endHour(ctx)
		u.hour = hour
	}
	if s.Meta.IsOutput() {
		u.outputs = append(u.outputs, s)
	} else {
		u.plain = append(u.plain, s)
	}
}

// endHour subtracts the segments of the last hour that its outputs contain.
func (u *usage) endHour(ctx context.Context) {
	if len(u.outputs) > 0 && u.err == nil {
		var contained []containment.Segment
		contained, u.err = u.contained(ctx)
		for _, s := range contained {
			day := u.days[classDay{s.Meta.Class, u.hour.Truncate(day)}]
			day.Blobs--
			day.Bytes -= s.Size
		}
	}
	u.plain, u.outputs, u.rejected = nil, nil, nil
}

// contained returns the plain segments of the hour that its outputs contain.
func (u *usage) contained(ctx context.Context) (all []containment.Segment, err error) {
	outputs := slices.DeleteFunc(u.outputs, func(s containment.Segment) bool { return slices.Contains(u.rejected, s.Name) })
	var lists []containment.Output
	for _, i := range containment.Undecided(outputs, u.plain) {
		s := outputs[i]
		read := func(ctx context.Context, off, n int64) (data []byte, err error) {
			err = retry.Do(ctx, func() error {
				data, err = u.r.store.Blobs().Read(ctx, s.Name.String(), off, n)
				return err
			})
			return data, err
		}
		o, err := containment.ReadOutput(ctx, read, s)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue // deleted since
		case err != nil:
			return nil, fmt.Errorf("cannot read %s: %w", s.Name, err)
		}
		lists = append(lists, o)
	}
	for i, place := range containment.Contain(u.plain, lists) {
		if place.Contained() {
			all = append(all, u.plain[i])
		}
	}
	return all, nil
}
