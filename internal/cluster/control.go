package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Stop ends a test. Its results stay. It returns the message for the user.
func (c *Cluster) Stop(ctx context.Context, name string) (string, error) {
	return c.control(ctx, name, `{"spec":{"stop":true}}`, func(lt *v1alpha1.LoadTest) (string, bool) {
		if lt.Spec.Stop {
			return "is already stopping", false
		}
		return "is stopping; the report keeps everything that was measured", true
	})
}

// Suspend pauses a test, or prevents that it starts. It returns the message for the user.
func (c *Cluster) Suspend(ctx context.Context, name string) (string, error) {
	return c.control(ctx, name, `{"spec":{"suspend":true}}`, func(lt *v1alpha1.LoadTest) (string, bool) {
		switch {
		case lt.Spec.Suspend:
			return "is already suspended", false
		case lt.Status.StartTime == nil:
			return "starts only after you resume it", true
		}
		return "is pausing; it still receives the responses in flight", true
	})
}

// Resume reverses Suspend. It returns the message for the user.
func (c *Cluster) Resume(ctx context.Context, name string) (string, error) {
	return c.control(ctx, name, `{"spec":{"suspend":false}}`, func(lt *v1alpha1.LoadTest) (string, bool) {
		if !lt.Spec.Suspend {
			return "is not suspended", false
		}
		return "continues", true
	})
}

// control applies a merge patch to a test that has not ended, if it changes the test. message returns what the test
// does then, and whether the patch changes it.
func (c *Cluster) control(ctx context.Context, name, patch string,
	message func(*v1alpha1.LoadTest) (text string, changes bool)) (string, error) {
	lt, err := c.Get(ctx, name)
	if err != nil {
		return "", err
	}
	if Finished(lt) {
		return fmt.Sprintf("%s has already ended: %s", name, lt.Status.Phase), nil
	}
	text, changes := message(lt)
	if changes {
		err = c.merge(ctx, lt, patch)
	}
	return name + " " + text, err
}

func (c *Cluster) merge(ctx context.Context, lt *v1alpha1.LoadTest, patch string) error {
	return c.client.Patch(ctx, lt, client.RawPatch("application/merge-patch+json", []byte(patch)),
		client.FieldOwner(FieldOwner))
}

// Finished reports whether a test has ended, in any way, or has an invalid spec.
func Finished(lt *v1alpha1.LoadTest) bool {
	return lt.Status.CompletionTime != nil || Invalid(lt)
}

// Invalid reports whether the operator has rejected the current generation of the spec.
func Invalid(lt *v1alpha1.LoadTest) bool {
	return lt.Status.CompletionTime == nil && lt.Status.ObservedGeneration == lt.Generation &&
		meta.IsStatusConditionTrue(lt.Status.Conditions, v1alpha1.ConditionFinished)
}
