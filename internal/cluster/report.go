package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Report fetches the Report that status names, as JSON compressed with gzip.
func (c *Cluster) Report(ctx context.Context, lt *v1alpha1.LoadTest) ([]byte, error) {
	ref := lt.Status.Report
	if ref == nil {
		return nil, fmt.Errorf("%s has no report: %s", lt.Name, withoutReport(lt))
	}
	cm := &corev1.ConfigMap{}
	if err := c.client.Get(ctx, c.key(ref.ConfigMapRef.Name), cm); err != nil {
		return nil, fmt.Errorf("the report of %s: %w", lt.Name, err)
	}
	b, has := cm.BinaryData[v1alpha1.KeyReport]
	if !has {
		return nil, fmt.Errorf("the report of %s: ConfigMap %s has no key %s", lt.Name, ref.ConfigMapRef.Name,
			v1alpha1.KeyReport)
	}
	return b, nil
}

func withoutReport(lt *v1alpha1.LoadTest) string {
	switch {
	case Invalid(lt):
		return "its spec is invalid"
	case Finished(lt):
		return "nothing was measured"
	case lt.Status.Phase == "":
		return "the operator has not read it yet"
	}
	return fmt.Sprintf("it has not ended (%s)", lt.Status.Phase)
}
