// Azurite-run starts Azurite for a script. With a command it runs that with
// LOGSTOW_AZURITE and AZURE_STORAGE_CONNECTION_STRING set and ends with its
// exit status; without one it prints the connection string and runs until
// standard input closes.
//
//	go run ./internal/test/azurite/cmd/azurite-run go test ./...
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"logstow/internal/test/azurite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "azurite-run:", err)
	}
	os.Exit(status)
}

func run(ctx context.Context, args []string) (status int, err error) {
	server, err := azurite.Run(ctx)
	if err != nil {
		return 3, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if len(args) == 0 {
		return 0, untilEOF(ctx, server)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(os.Environ(),
		azurite.Env+"="+server.ConnectionString(),
		"AZURE_STORAGE_CONNECTION_STRING="+server.ConnectionString())
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 3, err
	}
	return 0, nil
}

// untilEOF prints the connection string and waits for the end of standard input or ctx.
func untilEOF(ctx context.Context, server *azurite.Azurite) error {
	if _, err := fmt.Println(server.ConnectionString()); err != nil {
		return err
	}
	eof := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		eof <- err
	}()
	select {
	case err := <-eof:
		return err
	case <-ctx.Done():
		return nil
	}
}
