package bind_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"logstow/internal/bind"
	"logstow/internal/hint"
)

func TestError(t *testing.T) {
	t.Parallel()
	syscallError := func(errno syscall.Errno) error {
		return &net.OpError{Op: "listen", Net: "tcp", Addr: &net.TCPAddr{Port: 5}, Err: os.NewSyscallError("bind", errno)}
	}
	for _, c := range []struct {
		err        error
		want, hint string
	}{
		{syscallError(syscall.EADDRINUSE), "bind: address already in use", "another program listens there"},
		{syscall.EADDRINUSE, "address already in use", "another program listens there"},
		{syscallError(syscall.EADDRNOTAVAIL), "bind: cannot assign requested address", "address of this machine"},
		{syscallError(syscall.EACCES), "bind: permission denied", "below 1024"},
		{&net.OpError{Op: "listen", Err: &net.DNSError{Err: "no such host", Name: "h"}}, "lookup h: no such host", "IP address"},
		{fs.ErrInvalid, "invalid argument", ""},
	} {
		err := bind.Error("h:5", c.err)
		if got := "cannot listen on h:5: " + c.want; err.Error() != got {
			t.Errorf("got %q, want %q", err, got)
		}
		if got := hint.Of(err); !strings.Contains(got, c.hint) || (got == "") != (c.hint == "") {
			t.Errorf("%v: hint %q, want %q", c.err, got, c.hint)
		}
		if cause := errors.Unwrap(c.err); cause != nil && !errors.Is(err, cause) {
			t.Errorf("%v does not wrap %v", err, cause)
		}
	}
}
