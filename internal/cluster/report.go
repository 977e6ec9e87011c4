package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Report fetches the Report that status names, as JSON compressed with gzip. A ConfigMap without the Report is an error
// that is not temporary.
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
		missing := apierrors.NewNotFound(corev1.Resource("configmaps"), cm.Name)
		missing.ErrStatus.Message = fmt.Sprintf("ConfigMap %s has no key %s", cm.Name, v1alpha1.KeyReport)
		return nil, fmt.Errorf("the report of %s: %w", lt.Name, missing)
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
