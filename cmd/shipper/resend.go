package main

import (
	"errors"
	"fmt"
	"slices"

	ucli "github.com/urfave/cli/v2"

	"logstow/buffer/spool"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/units"
)

func resendCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "resend",
		Usage: "send again what a lost relay may have",
		UsageText: `shipper resend --relay 0d709907e6f04900
shipper resend --relay 0d709907e6f04900 --buffer-dir ./buffer
shipper resend --relay 0d709907e6f04900 --buffer-dir /var/lib/logstow/web/vm-1`,
		Description: `A segment that was sent to a relay without a response is sent to that relay only,
because it may have it. If the disk of the relay is lost, such segments wait forever.
resend lets the next shipper run send them to another relay.

Records that the lost relay had stored before are then stored twice: use it only if
the disk of the relay cannot be brought back. ID is in the message of the shipper
that waits for it. No shipper may have the buffer open.

Exit status: 0 done, 1 there is no buffer, or nothing waits for the relay, 2 wrong
command line, 3 something failed.`,
		Flags: slices.Concat(
			cli.Under(categoryBuffer, cli.Text("relay", "`ID`: the buffer of the relay that is lost")),
			bufferDirFlag(),
		),
		Action: func(c *ucli.Context) error {
			id, err := lostRelay(c)
			if err != nil {
				return err
			}
			dirs, err := bufferDirs(c.Context, c.String("buffer-dir"))
			if err != nil {
				return err
			}
			var errs []error
			all := 0
			for _, dir := range dirs {
				n, err := spool.Resend(dir, id)
				if n > 0 {
					fmt.Fprintf(c.App.Writer, "%s: %s will be sent again\n", dir, units.Count(n, "segment"))
				}
				all, errs = all+n, append(errs, err)
			}
			if err := errors.Join(errs...); err != nil {
				return err
			}
			if all == 0 {
				fmt.Fprintf(c.App.ErrWriter, "shipper: nothing waits for relay %s in %s\n", id, units.Count(len(dirs), "buffer"))
				return cli.Exit(1)
			}
			return nil
		},
	}
}

// lostRelay is the ID of the command line.
func lostRelay(c *ucli.Context) (id string, err error) {
	if id = c.String("relay"); id == "" || c.Args().Present() {
		return "", hint.Wrap(cli.Usagef("resend requires --relay and no arguments"),
			"the ID is in the message of the shipper that waits for the relay")
	}
	return id, nil
}
