package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// Submit applies the ConfigMaps and Secrets of a manifest and creates its LoadTest, which is returned as the API
// server has it. If a LoadTest of that name exists, Submit writes nothing. The namespace of the LoadTest becomes that
// of the cluster. A LoadTest without a name gets one from the API server, which appends random characters to
// generateName.
func (c *Cluster) Submit(ctx context.Context, m *compile.Manifest) (*v1alpha1.LoadTest, error) {
	c.Namespace = m.LoadTest.Namespace
	if m.LoadTest.Name != "" { // else the API server makes a name of generateName
		switch _, err := c.Get(ctx, m.LoadTest.Name); {
		case err == nil:
			return nil, c.exists(m.LoadTest.Name)
		case !named(err):
			return nil, err
		}
	}
	for i := range m.ConfigMaps {
		if err := c.apply(ctx, "ConfigMap", &m.ConfigMaps[i]); err != nil {
			return nil, err
		}
	}
	for i := range m.Secrets {
		if err := c.apply(ctx, "Secret", &m.Secrets[i]); err != nil {
			return nil, err
		}
	}
	lt := m.LoadTest.DeepCopy()
	lt.Status = v1alpha1.LoadTestStatus{}
	err := c.client.Create(ctx, lt, client.FieldOwner(FieldOwner))
	if apierrors.IsAlreadyExists(err) && m.LoadTest.Name != "" {
		return nil, c.exists(lt.Name)
	}
	return lt, err
}

func (c *Cluster) exists(name string) error {
	return fmt.Errorf("LoadTest %s/%s already exists, and a LoadTest runs once: use --name or --generate-name, or delete it: kubectl delete loadtest %s -n %s",
		c.Namespace, name, name, c.Namespace)
}

// named reports whether the error is about an object that does not exist, and not about an unknown kind.
func named(err error) bool {
	_, is := err.(apierrors.APIStatus) //nolint:errorlint // explain has wrapped those about a kind
	return is && apierrors.IsNotFound(err)
}

// apply applies an object on the server side. If another field manager has other values, it returns an error that names
// the fields.
func (c *Cluster) apply(ctx context.Context, kind string, object metav1.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind, object.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(schema.GroupVersionKind{Version: corev1.SchemeGroupVersion.Version, Kind: kind})
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	if err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(FieldOwner)); err != nil {
		return fmt.Errorf("%s %s: %w", kind, object.GetName(), err)
	}
	return nil
}
