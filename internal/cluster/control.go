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
	lt, err := c.Get(ctx, name)
	switch {
	case err != nil:
		return "", err
	case Finished(lt):
		return fmt.Sprintf("%s has already ended: %s", name, lt.Status.Phase), nil
	case lt.Spec.Stop:
		return name + " is already stopping", nil
	}
	return name + " is stopping; the report keeps everything that was measured",
		c.merge(ctx, lt, `{"spec":{"stop":true}}`)
}

// Suspend pauses a test, or prevents that it starts. It returns the message for the user.
func (c *Cluster) Suspend(ctx context.Context, name string) (string, error) {
	lt, err := c.Get(ctx, name)
	switch {
	case err != nil:
		return "", err
	case Finished(lt):
		return fmt.Sprintf("%s has already ended: %s", name, lt.Status.Phase), nil
	case lt.Spec.Suspend:
		return name + " is already suspended", nil
	case lt.Status.StartTime == nil:
		return name + " starts only after you resume it", c.merge(ctx, lt, `{"spec":{"suspend":true}}`)
	}
	return name + " is pausing; it still receives the responses in flight",
		c.merge(ctx, lt, `{"spec":{"suspend":true}}`)
}

// Resume reverses Suspend. It returns the message for the user.
func (c *Cluster) Resume(ctx context.Context, name string) (string, error) {
	lt, err := c.Get(ctx, name)
	switch {
	case err != nil:
		return "", err
	case Finished(lt):
		return fmt.Sprintf("%s has already ended: %s", name, lt.Status.Phase), nil
	case !lt.Spec.Suspend:
		return name + " is not suspended", nil
	}
	return name + " continues", c.merge(ctx, lt, `{"spec":{"suspend":false}}`)
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
