package cluster

import (
	"fmt"
	"maps"
	"path"

	corev1 "k8s.io/api/core/v1"

	"github.com/h2surge/h2surge/test/simulate/apiserver"
)

// mount returns the files of the container named runner. Its error names what is missing.
func (c *Cluster) mount(of *corev1.Pod) (map[string][]byte, error) {
	files, dirs := map[string][]byte{}, map[string]string{}
	for _, container := range of.Spec.Containers {
		for _, m := range container.VolumeMounts {
			if container.Name == runner {
				dirs[m.Name] = m.MountPath
			}
		}
	}
	for _, v := range of.Spec.Volumes {
		for _, s := range sources(&v) {
			if dir := dirs[v.Name]; dir != "" {
				if err := c.read(of.Namespace, dir, &s, files); err != nil {
					return nil, err
				}
			}
		}
	}
	return files, nil
}

// sources returns the objects of a volume.
func sources(v *corev1.Volume) []corev1.VolumeProjection {
	switch {
	case v.Projected != nil:
		return v.Projected.Sources
	case v.ConfigMap != nil:
		return []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: v.ConfigMap.LocalObjectReference, Items: v.ConfigMap.Items}}}
	case v.Secret != nil:
		return []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: v.Secret.SecretName}, Items: v.Secret.Items}}}
	}
	return nil
}

// read adds the files of an object.
func (c *Cluster) read(namespace, dir string, s *corev1.VolumeProjection, into map[string][]byte) error {
	var items []corev1.KeyToPath
	var data map[string][]byte
	switch {
	case s.ConfigMap != nil:
		cm := apiserver.Find[*corev1.ConfigMap](c.opts.Server, namespace, s.ConfigMap.Name)
		if cm == nil {
			return fmt.Errorf("configmap %q not found", s.ConfigMap.Name)
		}
		items, data = s.ConfigMap.Items, map[string][]byte{}
		maps.Copy(data, cm.BinaryData)
		for key, text := range cm.Data {
			data[key] = []byte(text)
		}
	case s.Secret != nil:
		secret := apiserver.Find[*corev1.Secret](c.opts.Server, namespace, s.Secret.Name)
		if secret == nil {
			return fmt.Errorf("secret %q not found", s.Secret.Name)
		}
		items, data = s.Secret.Items, secret.Data
	}
	for _, item := range items {
		if _, ok := data[item.Key]; !ok {
			return fmt.Errorf("references non-existent key: %s", item.Key)
		}
		into[path.Join(dir, item.Path)] = data[item.Key]
	}
	for key := range data {
		if items == nil {
			into[path.Join(dir, key)] = data[key]
		}
	}
	return nil
}
