// Command h2surge is the command line: it runs load tests on this machine, serves a target for them, and shows reports.
package main

import (
	"os"

	"github.com/h2surge/h2surge/internal/cli"
)

func main() { os.Exit(cli.Main()) }
