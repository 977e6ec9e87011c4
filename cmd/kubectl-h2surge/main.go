// Command kubectl-h2surge is a plugin of kubectl: it runs load tests in a cluster that has the operator, follows and
// changes them, and gets their reports.
package main

import (
	"context"
	"os"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/roots"
)

func main() {
	roots.Use() // for an API server whose certificate the roots of the system verify
	root := newRootCommand(newKube())
	os.Exit(command.Execute(context.Background(), root, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
