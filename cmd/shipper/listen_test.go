package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// An address that another program uses is no error of the command line; one that this machine does not have is one.
func TestAddressesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	stream, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	packets, err := lc.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = packets.Close() })
	tcp, udp := stream.Addr().String(), packets.LocalAddr().String()
	for _, c := range []struct {
		flag, scheme, address, prefix string
	}{
		{"--http", "", tcp, "http input"},
		{"--forward", "", tcp, "forward input"},
		{"--syslog", "tcp://", tcp, "syslog input"},
		{"--syslog", "udp://", udp, "syslog input"},
		{"--gelf", "tcp://", tcp, "gelf input"},
		{"--gelf", "udp://", udp, "gelf input"},
		{"--forward=127.0.0.1:0 --metrics", "", tcp, "metrics"},
		{"--http", "", "192.0.2.1:0", "http input"},
	} {
		t.Run(c.flag+c.scheme, func(t *testing.T) {
			t.Parallel()
			status, want := 3, "address already in use\nhint: another program listens there"
			if c.address == "192.0.2.1:0" {
				status, want = 2, "cannot assign requested address\nhint: give an address of this machine"
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := shipperCommand(ctx, t, append(os.Environ(), "XDG_STATE_HOME="+t.TempDir()),
				append([]string{"run", "--store", t.TempDir(), "--service", "x"}, strings.Fields(c.flag+" "+c.scheme+c.address)...)...)
			err := cmd.Run()
			stderr := fmt.Sprint(cmd.Stderr.(*bytes.Buffer))
			want = fmt.Sprintf("shipper: %s: cannot listen on %s: bind: %s", c.prefix, c.address, want)
			if cmd.ProcessState.ExitCode() != status || !strings.Contains("\n"+stderr, "\n"+want) {
				t.Errorf("%v, want status %d and %q; standard error:\n%s", err, status, want, stderr)
			}
		})
	}
}
