package batching

// sealTicket orders the sealing of a partition's batches: they become durable in the order
// in which they were detached. A sealed batch covers all lower record numbers of its key, so
// no older batch with such a record may remain unsealed.
type sealTicket struct {
	previous *sealTicket
	done     chan struct{}
	// failed is set before done is closed.
	failed bool
}

// wait waits until the previous batch is done and reports whether it and all before it are sealed.
func (s *sealTicket) wait() bool {
	if s.previous == nil {
		return true
	}
	<-s.previous.done
	ok := !s.previous.failed
	s.previous = nil
	return ok
}

func (s *sealTicket) finish(ok bool) {
	s.failed = !ok
	close(s.done)
}
