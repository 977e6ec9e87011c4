package command

import (
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/report/verdict"
)

// unread is a pipe without a reader.
type unread struct{}

func (unread) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestUnreadOutput: the reader of standard output ended. What failed beside it is shown.
func TestUnreadOutput(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{syscall.EPIPE, ""},
		{Exit(verdict.ExitFailed, "a threshold failed"), ""},
		{Failf("--output-file: no space"), "--output-file: no space\n"},
	} {
		root := NewRootCommand("", "")
		root.RunE = func(cmd *cobra.Command, _ []string) error {
			_, _ = cmd.OutOrStdout().Write([]byte("x"))
			return tt.err
		}
		var errs strings.Builder
		if code := Execute(t.Context(), root, nil, nil, unread{}, &errs); code != exitBrokenPipe || errs.String() != tt.want {
			t.Errorf("%v: code %d, says %q, want %q", tt.err, code, errs.String(), tt.want)
		}
	}
}
