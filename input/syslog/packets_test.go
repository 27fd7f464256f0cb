package syslog_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/input/listen"
	"logstow/input/socket"
	"logstow/input/syslog"
	"logstow/internal/test/await"
	"logstow/internal/test/inputtest"
)

func TestPackets(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"udp://:0", "udp://[::1]:0", "unixgram://" + filepath.Join(t.TempDir(), "log")} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			sink := newSink()
			s, stop := serve(t, socket.Options{Options: options(sink), Endpoint: listen.Endpoint{Address: address}})
			c := inputtest.Dial(t, s.Addr())
			want := make([]string, 500)
			for i := range want {
				want[i] = fmt.Sprint("message ", i)
				inputtest.Write(t, c, "<13>Nov 21 08:20:52 app[7]: "+want[i]+"\n")
				if i%100 == 0 {
					sink.Wait(t, i+1) // no more at once than any receive buffer holds
				}
			}
			inputtest.Write(t, c, "\n")
			inputtest.Write(t, c, "two\nlines")
			inputtest.Write(t, c, "<13>Nov 21 08:20:52 app[7]: as Python sends it\x00")
			want = append(want, "two\nlines", "as Python sends it")
			got := sink.Wait(t, len(want))
			if m := inputtest.Messages(got); !slices.Equal(m, want) {
				t.Errorf("%q", m)
			}
			host := strings.Trim(strings.TrimSuffix(strings.TrimPrefix(address, "udp://"), ":0"), "[]")
			switch {
			case strings.HasPrefix(address, "unix"):
				host = ""
			case host == "":
				host = "127.0.0.1"
			}
			if source := strings.TrimPrefix(host+"/app/7", "/"); got[0].Source != source {
				t.Errorf("source %q, want %q", got[0].Source, source)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			if path, ok := strings.CutPrefix(address, "unixgram://"); ok {
				if _, err := os.Lstat(path); !os.IsNotExist(err) {
					t.Errorf("the socket is still there: %v", err)
				}
			}
		})
	}
}

func TestDropped(t *testing.T) {
	t.Parallel()
	sink := newSink()
	sink.SetFull(true)
	s, stop := serve(t, socket.Options{Options: options(sink), Endpoint: listen.Endpoint{Address: "udp://:0"}, MaxMemory: 1 << 20})
	c := inputtest.Dial(t, s.Addr())
	text := strings.Repeat("z", 1000)
	n := int64(0)
	for s.Stats().Dropped.Load() == 0 {
		inputtest.Write(t, c, fmt.Sprintf("<13>Nov 21 08:20:52 h app: %d %s", n, text))
		n++
	}
	sink.SetFull(false)
	// What the kernel dropped is reported with a datagram that came after it.
	await.Until(t, time.Minute, "a datagram comes through", func() bool {
		inputtest.Write(t, c, "<13>Nov 21 08:20:52 h app: last")
		n++
		return slices.Contains(inputtest.Messages(sink.Wait(t, 0)), "last")
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	stats := s.Stats()
	if got := int64(len(sink.Take())); got == 0 || got+stats.Dropped.Load()+stats.LostByKernel.Load() != n {
		t.Errorf("%d sent, %d came, %+v", n, got, stats)
	}
}

func TestSocketFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	first, err := socket.New(t.Context(), socket.Options{Options: options(newSink()), Endpoint: listen.Endpoint{Address: "unixgram://" + path}}, new(syslog.Spec).Protocol())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if _, err := socket.New(t.Context(), socket.Options{Options: options(newSink()), Endpoint: listen.Endpoint{Address: "unixgram://" + path}}, new(syslog.Spec).Protocol()); err == nil {
		t.Error("two servers on one socket")
	}
	// A socket that was left behind is replaced.
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	if err := os.Rename(path+".old", path); err != nil {
		t.Fatal(err)
	}
	second, err := socket.New(t.Context(), socket.Options{Options: options(newSink()), Endpoint: listen.Endpoint{Address: "unixgram://" + path}, Mode: 0o600}, new(syslog.Spec).Protocol())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != fs.FileMode(0o600) {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
