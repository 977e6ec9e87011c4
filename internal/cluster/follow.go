package cluster

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Interval is how often a test is looked at. The operator writes status about as often.
const Interval = time.Second

// Look is one look at a test that is followed.
type Look struct {
	// Test as it was when it was last seen.
	Test *v1alpha1.LoadTest
	// Trouble is why it could not be seen this time; nil: it was.
	Trouble error
}

// Follow looks at a test, and again each time wait returns, and calls each with what it saw, until either
// returns false, the context ends, or the test was deleted or may not be
// read. A temporary error is reported in Look, and Follow asks again, except at the first look.
func (c *Cluster) Follow(ctx context.Context, name string, each func(Look) bool, wait func() bool) error {
	var look Look
	for {
		lt, err := c.Get(ctx, name)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && look.Test == nil:
			return err
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%s was deleted", name)
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
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
