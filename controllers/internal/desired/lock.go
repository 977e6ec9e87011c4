package desired

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
)

// Lock returns a lock without a holder. No LoadTest owns it.
func Lock(namespace, name string) *statev1alpha1.LoadTestLock {
	return &statev1alpha1.LoadTestLock{
		TypeMeta: metav1.TypeMeta{APIVersion: statev1alpha1.GroupVersion.String(), Kind: "LoadTestLock"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels: map[string]string{LabelName: Application, LabelComponent: "lock", LabelManagedBy: Application},
		},
	}
}
