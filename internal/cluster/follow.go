package cluster

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/mask"
)

// Interval is the time between two requests for a test that is followed. The operator writes status about as often.
const Interval = time.Second

// Look is the result of one request for a test that is followed.
type Look struct {
	// Test is the LoadTest in the last answer.
	Test *v1alpha1.LoadTest
	// Trouble is the error of this request, or nil.
	Trouble error
}

// Line returns the progress of the test in one line, or why there is no news.
func (l Look) Line(now time.Time) string {
	if l.Trouble != nil {
		return troubleText(l.Trouble)
	}
	return Line(l.Test, now)
}

func troubleText(err error) string { return "no answer from the API server: " + mask.Line(err.Error()) }

// Temporary reports whether a request that got this error is to be sent again: unless the object does not exist or must
// not be read.
func Temporary(err error) bool {
	return !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err)
}

// Follow fetches a test, and again each time wait returns, and calls each with the result. It ends if wait or each
// returns false, if the context ends, or if the test was deleted or must not be read. A temporary error is in the Look
// that each gets. If known is nil, the test may not exist, and Follow returns the error of the first request.
func (c *Cluster) Follow(ctx context.Context, name string, known *v1alpha1.LoadTest, each func(Look) bool,
	wait func() bool) error {
	for look := (Look{Test: known}); ; {
		lt, err := c.Get(ctx, name)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && look.Test == nil:
			return err
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%s was deleted", name)
		case err != nil && !Temporary(err):
			return err
		case err != nil:
			look.Trouble = err
		case look.Test != nil && lt.UID != look.Test.UID:
			return fmt.Errorf("%s was deleted and created again", name)
		default:
			look = Look{Test: lt}
		}
		if !each(look) || !wait() {
			return ctx.Err()
		}
	}
}
