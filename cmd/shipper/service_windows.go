package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"strings"

	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/eventlog"

	"logstow/agent"
	"logstow/internal/cli"
)

const (
	// serviceName is the source of events. The service itself may be installed under any name.
	serviceName = "Logstow shipper"
	// eventID is that of all events: EventCreate.exe, which describes them, knows 1 to 1000.
	eventID = 1
)

// runAsService runs the command line as a service of Windows, if the service manager has started this process. Its log goes to the event
// log Application. The service manager's stop and a shutdown are what SIGTERM is elsewhere.
func runAsService() (status int, ok bool) {
	if is, err := svc.IsWindowsService(); err != nil || !is {
		return 0, false
	}
	// It exists after the first start.
	_ = eventlog.InstallAsEventCreate(serviceName, eventlog.Info|eventlog.Warning|eventlog.Error)
	events, err := eventlog.Open(serviceName)
	if err != nil {
		return cli.Incomplete, true
	}
	read, write, err := os.Pipe()
	if err != nil {
		_ = events.Error(eventID, err.Error())
		return cli.Incomplete, true
	}
	os.Stderr = write
	done := make(chan struct{})
	go func() {
		defer close(done)
		report(events, bufio.NewScanner(read))
	}()
	s := &service{}
	if err := svc.Run(serviceName, s); err != nil {
		_ = events.Error(eventID, err.Error())
		s.status = cli.Incomplete
	}
	_ = write.Close()
	<-done
	_ = read.Close()
	_ = events.Close()
	return s.status, true
}

// report writes the lines of the log as events with their level.
func report(events *eventlog.Log, lines *bufio.Scanner) {
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Level string }
		_ = json.Unmarshal(lines.Bytes(), &line)
		switch strings.ToUpper(line.Level) {
		case "INFO", "DEBUG":
			_ = events.Info(eventID, lines.Text())
		case "WARN":
			_ = events.Warning(eventID, lines.Text())
		default: // also what is no line of the log: errors of the command line
			_ = events.Error(eventID, lines.Text())
		}
	}
}

// service answers the service manager.
type service struct{ status int }

// Execute runs the command line of the process until it or the service manager ends it.
func (s *service) Execute(_ []string, requests <-chan svc.ChangeRequest, state chan<- svc.Status) (specific bool, code uint32) {
	const accepted = svc.AcceptStop | svc.AcceptShutdown
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ended := make(chan int, 1)
	go func() { ended <- cli.Run(ctx, *program(), os.Args) }()
	state <- svc.Status{State: svc.Running, Accepts: accepted}
	for {
		select {
		case s.status = <-ended:
			state <- svc.Status{State: svc.StopPending}
			return true, uint32(s.status) //nolint:gosec // 0 to 255
		case r := <-requests:
			switch r.Cmd {
			case svc.Interrogate:
				state <- r.CurrentStatus
			case svc.Stop, svc.Shutdown:
				// More than --drain-timeout (25s), in milliseconds.
				state <- svc.Status{State: svc.StopPending, WaitHint: 40_000}
				cancel(agent.ErrStopped)
			default:
			}
		}
	}
}
