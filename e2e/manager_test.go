package e2e

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestServiceManager is what systemd hears: ready, alive, stopping.
func TestServiceManager(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(r.root, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	heard := func() string {
		t.Helper()
		if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1000)
		n, err := socket.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	// Few messages, so that none finds the socket full while this test does not read.
	p := r.start(plain(), []string{"NOTIFY_SOCKET=" + socket.LocalAddr().String(), "WATCHDOG_USEC=3000000"}, r.args("--syslog", "udp://127.0.0.1:0")...)
	var all []string
	for range 3 {
		all = append(all, heard())
	}
	if want := []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1"}; !slices.Equal(all, want) {
		t.Errorf("heard %q", all)
	}
	p.signal(t, os.Interrupt)
	for said := heard(); said != "STOPPING=1"; said = heard() {
		if said != "WATCHDOG=1" {
			t.Fatalf("heard %q", said)
		}
	}
	p.end(t, patience)
}
