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
	files := map[string][]byte{}
	for _, container := range of.Spec.Containers {
		for _, m := range container.VolumeMounts {
			for i := range of.Spec.Volumes {
				v := &of.Spec.Volumes[i]
				if container.Name != runner || v.Name != m.Name {
					continue
				}
				for _, s := range sources(v) {
					if err := c.read(of.Namespace, m.MountPath, &s, files); err != nil {
						return nil, err
					}
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
	var name string
	var items []corev1.KeyToPath
	var data map[string][]byte
	switch {
	case s.ConfigMap != nil:
		name, items = s.ConfigMap.Name, s.ConfigMap.Items
		if cm := apiserver.Find[*corev1.ConfigMap](c.opts.Server, namespace, name); cm != nil {
			data = map[string][]byte{}
			for key, text := range cm.Data {
				data[key] = []byte(text)
			}
			maps.Copy(data, cm.BinaryData)
		}
	case s.Secret != nil:
		name, items = s.Secret.Name, s.Secret.Items
		if secret := apiserver.Find[*corev1.Secret](c.opts.Server, namespace, name); secret != nil {
			data = secret.Data
		}
	}
	if data == nil {
		return fmt.Errorf("%q not found", name)
	}
	if items == nil {
		for key := range data {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		octets, ok := data[item.Key]
		if !ok {
			return fmt.Errorf("references non-existent key: %s", item.Key)
		}
		into[path.Join(dir, item.Path)] = octets
	}
	return nil
}
